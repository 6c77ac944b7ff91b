"""List the environment variables that litellm needs before it can call each provider.

A row is a list of groups; one variable of each group must be set. The source is the set of variables with which litellm
1.102 sends a request; `tests/models/providers/test_credentials.py` repeats this for the installed version. A provider
without a row is never refused here. Only OpenAI's row has OPENAI_API_KEY, because litellm would send that key to any
OpenAI-compatible provider whose own key is missing.
"""

from __future__ import annotations

from ..key_rule import access_of

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

_KEY_ALONE = (
    "ai21", "ai21_chat", "aiml", "amazon_nova", "anthropic_text", "apertis", "assemblyai", "baseten", "bytez",
    "charity_engine", "chutes", "clarifai", "codestral", "cognition", "cohere", "cohere_chat", "darkbloom",
    "dashscope", "datarobot", "empower", "featherless_ai", "friendliai", "galadriel", "gemini", "github",
    "gradient_ai", "helicone", "hyperbolic", "inception", "lambda_ai", "libertai", "maritalk", "meta", "meta_llama",
    "modelscope", "morph", "nano-gpt", "nebius", "neosantara", "nlp_cloud", "novita", "nscale", "nvidia_nim",
    "parasail", "pinstripes", "poe", "publicai", "qwen_ai_platform", "qwencloud", "replicate", "scaleway", "scx-ai",
    "synthetic", "tencent", "tensormesh", "text-completion-codestral", "text-completion-inception",
    "text-completion-openai", "v0", "volcengine", "wandb", "xiaomi_mimo",
)  # fmt: skip
KEYED: dict[str, Groups] = {name: (access_of(name).keys,) for name in _KEY_ALONE} | {
    "cloudflare": (access_of("cloudflare").keys, ("CLOUDFLARE_ACCOUNT_ID", "CLOUDFLARE_API_BASE")),
    "predibase": (access_of("predibase").keys, ("PREDIBASE_TENANT_ID",)),
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
