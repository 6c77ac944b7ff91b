"""List the environment variables that litellm needs before it can call each provider.

A row is a list of groups; one variable of each group must be set. The source is the set of variables with which litellm
1.102 sends a request; `tests/model/providers/test_credentials.py` repeats this for the installed version. A provider
without a row is never refused here. Only OpenAI's row has OPENAI_API_KEY, because litellm would send that key to any
OpenAI-compatible provider whose own key is missing.
"""

from __future__ import annotations

Groups = tuple[tuple[str, ...], ...]

_AWS: Groups = (
    (
        "AWS_ACCESS_KEY_ID", "AWS_PROFILE", "AWS_BEARER_TOKEN_BEDROCK", "AWS_ROLE_ARN", "AWS_WEB_IDENTITY_TOKEN_FILE",
        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    ),
)  # fmt: skip
_GOOGLE: Groups = (("GOOGLE_APPLICATION_CREDENTIALS", "VERTEXAI_CREDENTIALS", "VERTEX_CREDENTIALS"),)
_AZURE: Groups = (
    ("AZURE_API_KEY", "AZURE_OPENAI_API_KEY", "AZURE_AD_TOKEN", "AZURE_CLIENT_SECRET", "AZURE_FEDERATED_TOKEN_FILE"),
    ("AZURE_API_BASE",),
)
_WATSONX: Groups = (
    ("WATSONX_API_KEY", "WATSONX_APIKEY", "WX_API_KEY", "WATSONX_TOKEN", "WATSONX_ZENAPIKEY"),
    ("WATSONX_API_BASE", "WATSONX_URL", "WX_URL", "WML_URL"),
)

CLOUD: dict[str, Groups] = {
    "azure": _AZURE,
    "azure_text": _AZURE,
    "azure_ai": (("AZURE_AI_API_KEY", "AZURE_API_KEY", "AZURE_AD_TOKEN"), ("AZURE_AI_API_BASE",)),
    "bedrock": _AWS,
    "bedrock_mantle": (("BEDROCK_MANTLE_API_KEY", *_AWS[0]),),
    "databricks": (("DATABRICKS_API_KEY", "DATABRICKS_CLIENT_SECRET"), ("DATABRICKS_API_BASE",)),
    "gdc": (("GDC_API_KEY", *_GOOGLE[0]),),
    "gigachat": (("GIGACHAT_CREDENTIALS", "GIGACHAT_API_KEY", "GIGACHAT_ACCESS_TOKEN"),),
    "oci": (
        ("OCI_USER",), ("OCI_FINGERPRINT",), ("OCI_TENANCY",), ("OCI_COMPARTMENT_ID",), ("OCI_KEY", "OCI_KEY_FILE"),
    ),
    "sagemaker": _AWS,
    "sagemaker_chat": _AWS,
    "sagemaker_nova": _AWS,
    "sap": (("AICORE_SERVICE_KEY", "AICORE_CLIENT_ID", "AICORE_PROFILE"),),
    "snowflake": (("SNOWFLAKE_JWT",), ("SNOWFLAKE_ACCOUNT_ID", "SNOWFLAKE_API_BASE")),
    "vertex_ai": _GOOGLE,
    "vertex_ai_beta": _GOOGLE,
    "watsonx": _WATSONX,
    "watsonx_text": _WATSONX,
}  # fmt: skip
"""Providers that also accept files, roles or tokens: if a variable is missing, a dry run of litellm decides."""

KEYED: dict[str, Groups] = {
    "ai21": (("AI21_API_KEY",),),
    "ai21_chat": (("AI21_API_KEY",),),
    "aiml": (("AIML_API_KEY",),),
    "amazon_nova": (("AMAZON_NOVA_API_KEY",),),
    "anthropic_text": (("ANTHROPIC_API_KEY",),),
    "apertis": (("STIMA_API_KEY",),),
    "assemblyai": (("ASSEMBLYAI_API_KEY",),),
    "baseten": (("BASETEN_API_KEY",),),
    "bytez": (("BYTEZ_API_KEY",),),
    "charity_engine": (("CHARITY_ENGINE_API_KEY",),),
    "chutes": (("CHUTES_API_KEY",),),
    "clarifai": (("CLARIFAI_API_KEY",),),
    "cloudflare": (("CLOUDFLARE_API_KEY",), ("CLOUDFLARE_ACCOUNT_ID", "CLOUDFLARE_API_BASE")),
    "codestral": (("CODESTRAL_API_KEY",),),
    "cognition": (("COGNITION_API_KEY",),),
    "cohere": (("COHERE_API_KEY", "CO_API_KEY"),),
    "cohere_chat": (("COHERE_API_KEY", "CO_API_KEY"),),
    "darkbloom": (("DARKBLOOM_API_KEY",),),
    "dashscope": (("DASHSCOPE_API_KEY",),),
    "datarobot": (("DATAROBOT_API_TOKEN",),),
    "empower": (("EMPOWER_API_KEY",),),
    "featherless_ai": (("FEATHERLESS_AI_API_KEY", "FEATHERLESS_API_KEY"),),
    "friendliai": (("FRIENDLI_TOKEN", "FRIENDLIAI_API_KEY"),),
    "galadriel": (("GALADRIEL_API_KEY",),),
    "gemini": (("GEMINI_API_KEY", "GOOGLE_API_KEY"),),
    "github": (("GITHUB_API_KEY",),),
    "gradient_ai": (("GRADIENT_AI_API_KEY",),),
    "helicone": (("HELICONE_API_KEY",),),
    "hyperbolic": (("HYPERBOLIC_API_KEY",),),
    "inception": (("INCEPTION_API_KEY",),),
    "lambda_ai": (("LAMBDA_API_KEY",),),
    "libertai": (("LIBERTAI_API_KEY",),),
    "maritalk": (("MARITALK_API_KEY",),),
    "meta": (("META_API_KEY",),),
    "meta_llama": (("LLAMA_API_KEY",),),
    "modelscope": (("MODELSCOPE_API_KEY",),),
    "morph": (("MORPH_API_KEY",),),
    "nano-gpt": (("NANOGPT_API_KEY",),),
    "nebius": (("NEBIUS_API_KEY",),),
    "neosantara": (("NEOSANTARA_API_KEY",),),
    "nlp_cloud": (("NLP_CLOUD_API_KEY",),),
    "novita": (("NOVITA_API_KEY",),),
    "nscale": (("NSCALE_API_KEY",),),
    "nvidia_nim": (("NVIDIA_NIM_API_KEY",),),
    "parasail": (("PARASAIL_API_KEY",),),
    "pinstripes": (("PINSTRIPES_API_KEY",),),
    "poe": (("POE_API_KEY",),),
    "predibase": (("PREDIBASE_API_KEY",), ("PREDIBASE_TENANT_ID",)),
    "publicai": (("PUBLICAI_API_KEY",),),
    "qwen_ai_platform": (("QWEN_AI_PLATFORM_API_KEY", "DASHSCOPE_API_KEY"),),
    "qwencloud": (("QWENCLOUD_API_KEY", "DASHSCOPE_API_KEY"),),
    "replicate": (("REPLICATE_API_KEY", "REPLICATE_API_TOKEN"),),
    "scaleway": (("SCW_SECRET_KEY",),),
    "scx-ai": (("SCX_API_KEY",),),
    "synthetic": (("SYNTHETIC_API_KEY",),),
    "tencent": (("TENCENT_API_KEY",),),
    "tensormesh": (("TENSORMESH_INFERENCE_API_KEY",),),
    "text-completion-codestral": (("CODESTRAL_API_KEY",),),
    "text-completion-inception": (("INCEPTION_API_KEY",),),
    "text-completion-openai": (("OPENAI_API_KEY",),),
    "v0": (("V0_API_KEY",),),
    "volcengine": (("VOLCENGINE_API_KEY", "ARK_API_KEY"),),
    "wandb": (("WANDB_API_KEY",),),
    "xiaomi_mimo": (("XIAOMI_MIMO_API_KEY",),),
}
"""Providers that need exactly these variables, so litellm is not needed to detect a missing one."""

SERVED: dict[str, Groups] = {
    "a2a": (("A2A_API_BASE",),),
    "heroku": (("HEROKU_API_BASE",), ("HEROKU_API_KEY",)),
    "litellm_proxy": (("LITELLM_PROXY_API_BASE",),),
    "xinference": (("XINFERENCE_API_BASE",),),
}
"""Servers that users run themselves: they need an address, from `--api-base` or a variable."""

PACKAGES: dict[str, tuple[str, str]] = {
    "gdc": ("google.auth", "google-auth"),
    "oci": ("cryptography", "cryptography"),
    "petals": ("petals", "petals"),
    "vertex_ai": ("google.auth", "google-auth"),
    "vertex_ai_beta": ("google.auth", "google-auth"),
}
"""The module that litellm imports for a provider without installing it, and the package that contains the module."""

LOGINS: dict[str, tuple[str, str, str, str]] = {
    "chatgpt": ("CHATGPT_TOKEN_DIR", "~/.config/litellm/chatgpt", "CHATGPT_AUTH_FILE", "auth.json"),
    "github_copilot": (
        "GITHUB_COPILOT_TOKEN_DIR", "~/.config/litellm/github_copilot",
        "GITHUB_COPILOT_ACCESS_TOKEN_FILE", "access-token",
    ),
}  # fmt: skip
"""The file with a login's token: variable and default of its folder, then variable and default of its name.
Without the file, litellm prints a code for the browser, which the user of a run does not see."""

NEEDS: dict[str, Groups] = {**CLOUD, **KEYED, **SERVED}
