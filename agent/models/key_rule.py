"""Decide which key may go where: the variables of each provider, and the hosts that may get their values.

A key goes to the hosts of its provider, and to an address that the user gave for that provider: `--api-base` with the
provider written out, their own config, or a variable of `bases`. For a bare model name with an address, OPENAI_API_KEY
goes only to this machine and its network, to OpenAI's hosts, and to the address in OPENAI_BASE_URL.

Sources: the provider's module in litellm 1.102 (`litellm/llms/`, `litellm_core_utils/get_llm_provider_logic.py`,
`llms/openai_like/providers.json`), and `traits.py` for the providers that rundry reaches without litellm. For every
provider name of the installed litellm, `tests/models/providers/test_keys_sent.py` reads the requests that leave.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from urllib.parse import urlsplit

import msgspec

from .provider_traits import TRAITS


class KeyRule(msgspec.Struct, frozen=True, kw_only=True):
    """One provider's variables and hosts."""

    keys: tuple[str, ...] = ()
    """Variables with the key, the usual one first."""
    hosts: tuple[str, ...] = ()
    """The provider's own hosts. `.x.org` is x.org and every name below it."""
    bases: tuple[str, ...] = ()
    """Variables with an address that replaces the provider's own."""
    others: tuple[str, ...] = ()
    """Further variables that litellm reads for it: tokens, accounts, regions. `X_*` is every name that begins so."""

    def reads(self, name: str) -> bool:
        """Return whether the variable belongs to this provider."""
        return name in self.keys or name in self.bases or any(_is_named(name, by=other) for other in self.others)

    def addresses(self, env: Mapping[str, str]) -> list[str]:
        """Return the addresses that the environment gives for this provider."""
        return [env[name] for name in self.bases if env.get(name)]


def _is_named(name: str, *, by: str) -> bool:
    return name == by or (by.endswith("*") and name.startswith(by[:-1]))


def host_of(address: str) -> str:
    """Return the host of an address in lower case; empty if it does not have one."""
    try:
        return (urlsplit(address if "//" in address else f"//{address}").hostname or "").rstrip(".")
    except ValueError:
        return ""


def is_among(host: str, hosts: Iterable[str]) -> bool:
    """Return whether the host is one of `hosts`, which are written as in `Access.hosts`."""
    return any(host == own or (own.startswith(".") and f".{host}".endswith(own)) for own in hosts)


_AMAZON_HOSTS = (".amazonaws.com", ".amazonaws.com.cn", ".api.aws")
_GOOGLE_KEYS = ("GEMINI_API_KEY", "GOOGLE_API_KEY")
_VERTEX = (
    "VERTEXAI_CREDENTIALS", "VERTEX_CREDENTIALS", "GOOGLE_APPLICATION_CREDENTIALS", "VERTEXAI_*", "VERTEX_*",
    "GOOGLE_CLOUD_*", "CLOUDSDK_*",
)  # fmt: skip
_AZURE = (
    "AZURE_AD_TOKEN", "AZURE_OPENAI_AD_TOKEN", "AZURE_CLIENT_SECRET", "AZURE_PASSWORD", "AZURE_USERNAME",
    "AZURE_CLIENT_ID", "AZURE_TENANT_ID", "AZURE_FEDERATED_TOKEN_FILE", "AZURE_SCOPE",
    "AZURE_API_VERSION", "AZURE_API_TYPE", "AZURE_CREDENTIAL",
)  # fmt: skip
_AZURE_HOSTS = (
    ".openai.azure.com", ".cognitiveservices.azure.com", ".services.ai.azure.com", ".models.ai.azure.com",
    "login.microsoftonline.com",
)  # fmt: skip
_AZURE_OPENAI = KeyRule(
    keys=("AZURE_API_KEY", "AZURE_OPENAI_API_KEY"), hosts=_AZURE_HOSTS,
    bases=("AZURE_API_BASE", "AZURE_AUTHORITY_HOST"), others=_AZURE,
)  # fmt: skip
_WATSONX = KeyRule(
    hosts=(".cloud.ibm.com",), bases=("WATSONX_API_BASE", "WATSONX_URL", "WX_URL", "WML_URL", "WATSONX_IAM_URL"),
    others=("WATSONX_*", "WX_*"),
)  # fmt: skip
_OPENAI = ("OPENAI_ORG_ID", "OPENAI_ORGANIZATION", "OPENAI_PROJECT_ID")


def _usual(name: str, *hosts: str, base: str = "") -> KeyRule:
    """Return the row of a provider whose variables are `NAME_API_KEY` and `NAME_API_BASE`, or `base`."""
    return KeyRule(keys=(f"{name}_API_KEY",), hosts=hosts, bases=(base or f"{name}_API_BASE",))


_BY_LITELLM: dict[str, KeyRule] = {
    "a2a": KeyRule(bases=("A2A_API_BASE",)),
    "abliteration": _usual("ABLITERATION", "api.abliteration.ai"),
    "ai21": _usual("AI21", "api.ai21.com"),
    "ai21_chat": _usual("AI21", "api.ai21.com"),
    "aihubmix": _usual("AIHUBMIX", "aihubmix.com"),
    "aiml": _usual("AIML", "api.aimlapi.com"),
    "aiohttp_openai": KeyRule(),
    "amazon_nova": _usual("AMAZON_NOVA", "api.nova.amazon.com"),
    "anthropic_text": KeyRule(
        keys=("ANTHROPIC_API_KEY",), hosts=("api.anthropic.com",), bases=("ANTHROPIC_API_BASE", "ANTHROPIC_BASE_URL"),
        others=("LITELLM_ANTHROPIC_DISABLE_URL_SUFFIX",),
    ),
    "apertis": KeyRule(keys=("STIMA_API_KEY",), hosts=("api.stima.tech",)),
    "assemblyai": _usual("ASSEMBLYAI", "llm-gateway.assemblyai.com"),
    "azure": _AZURE_OPENAI,
    "azure_ai": KeyRule(
        keys=("AZURE_AI_API_KEY", "AZURE_API_KEY"), hosts=_AZURE_HOSTS,
        bases=("AZURE_AI_API_BASE", "AZURE_AUTHORITY_HOST"), others=(*_AZURE, "AZURE_AI_API_VERSION"),
    ),
    "azure_text": _AZURE_OPENAI,
    "baseten": _usual("BASETEN", "inference.baseten.co", ".api.baseten.co"),
    "bedrock": KeyRule(
        keys=("AWS_BEARER_TOKEN_BEDROCK",), hosts=_AMAZON_HOSTS,
        bases=("AWS_BEDROCK_RUNTIME_ENDPOINT", "AWS_STS_ENDPOINT"), others=("AWS_*", "BOTO_CONFIG"),
    ),
    "bedrock_mantle": KeyRule(
        keys=("BEDROCK_MANTLE_API_KEY", "AWS_BEARER_TOKEN_BEDROCK"), hosts=_AMAZON_HOSTS,
        bases=("BEDROCK_MANTLE_API_BASE",), others=("AWS_*", "BOTO_CONFIG", "BEDROCK_MANTLE_REGION"),
    ),
    "bytez": _usual("BYTEZ", "api.bytez.com"),
    "charity_engine": _usual("CHARITY_ENGINE", "api.charityengine.services"),
    "chatgpt": KeyRule(
        hosts=("auth.openai.com", "chatgpt.com"), bases=("CHATGPT_API_BASE", "OPENAI_CHATGPT_API_BASE"),
        others=("CHATGPT_*",),
    ),
    "chutes": _usual("CHUTES", "llm.chutes.ai"),
    "clarifai": _usual("CLARIFAI", "api.clarifai.com"),
    "cloudflare": KeyRule(
        keys=("CLOUDFLARE_API_KEY",), hosts=("api.cloudflare.com",), bases=("CLOUDFLARE_API_BASE",),
        others=("CLOUDFLARE_ACCOUNT_ID",),
    ),
    "codestral": _usual("CODESTRAL", "codestral.mistral.ai"),
    "cognition": _usual("COGNITION", "api.cognition.ai"),
    "cohere": KeyRule(
        keys=("COHERE_API_KEY", "CO_API_KEY"), hosts=("api.cohere.com", "api.cohere.ai"), bases=("COHERE_API_BASE",)
    ),
    "cohere_chat": KeyRule(
        keys=("COHERE_API_KEY", "CO_API_KEY"), hosts=("api.cohere.com", "api.cohere.ai"), bases=("COHERE_API_BASE",)
    ),
    "cometapi": KeyRule(keys=("COMETAPI_KEY",), hosts=("api.cometapi.com",), bases=("COMETAPI_API_BASE",)),
    "compactifai": _usual("COMPACTIFAI", "api.compactif.ai"),
    "crusoe": _usual("CRUSOE", "managed-inference-api-proxy.crusoecloud.com"),
    "custom": KeyRule(),
    "custom_openai": KeyRule(),
    "darkbloom": _usual("DARKBLOOM", "api.darkbloom.dev"),
    "dashscope": _usual("DASHSCOPE", "dashscope.aliyuncs.com", "dashscope-intl.aliyuncs.com"),
    "databricks": KeyRule(
        keys=("DATABRICKS_API_KEY",),
        hosts=(".cloud.databricks.com", ".azuredatabricks.net", ".gcp.databricks.com"),
        bases=("DATABRICKS_API_BASE", "DATABRICKS_HOST"), others=("DATABRICKS_*",),
    ),
    "datarobot": KeyRule(
        keys=("DATAROBOT_API_TOKEN",), hosts=("app.datarobot.com",), bases=("DATAROBOT_ENDPOINT",)
    ),
    "docker_model_runner": _usual("DOCKER_MODEL_RUNNER", "localhost", "model-runner.docker.internal"),
    "empiriolabs": _usual("EMPIRIOLABS", "api.empiriolabs.ai"),
    "empower": _usual("EMPOWER", "app.empower.dev"),
    "featherless_ai": KeyRule(
        keys=("FEATHERLESS_AI_API_KEY", "FEATHERLESS_API_KEY"), hosts=("api.featherless.ai",),
        bases=("FEATHERLESS_AI_API_BASE", "FEATHERLESS_API_BASE"),
    ),
    "friendliai": KeyRule(
        keys=("FRIENDLI_TOKEN", "FRIENDLIAI_API_KEY"), hosts=("api.friendli.ai",), bases=("FRIENDLI_API_BASE",)
    ),
    "galadriel": _usual("GALADRIEL", "api.galadriel.com", "api.galadriel.ai"),
    "gdc": KeyRule(
        keys=("GDC_API_KEY",), bases=("GDC_API_BASE",), hosts=(".googleapis.com",),
        others=("GDC_*", "GOOGLE_APPLICATION_CREDENTIALS", "VERTEXAI_CREDENTIALS", "VERTEX_CREDENTIALS"),
    ),
    "gemini": KeyRule(
        keys=_GOOGLE_KEYS, hosts=("generativelanguage.googleapis.com",), bases=("GEMINI_API_BASE",),
        others=("PALM_API_KEY",),
    ),
    "gigachat": KeyRule(
        hosts=("gigachat.devices.sberbank.ru", "ngw.devices.sberbank.ru"),
        bases=("GIGACHAT_API_BASE", "GIGACHAT_AUTH_URL"), others=("GIGACHAT_*",),
    ),
    "github": _usual("GITHUB", "models.inference.ai.azure.com", "models.github.ai"),
    "github_copilot": KeyRule(
        hosts=("github.com", "api.github.com", ".githubcopilot.com", ".ghe.com"),
        bases=(
            "GITHUB_COPILOT_API_BASE", "GITHUB_COPILOT_API_KEY_URL", "GITHUB_COPILOT_DEVICE_CODE_URL",
            "GITHUB_COPILOT_ACCESS_TOKEN_URL",
        ),
        others=("GITHUB_COPILOT_*",),
    ),
    "gmi": _usual("GMI", "api.gmi-serving.com"),
    "gradient_ai": _usual("GRADIENT_AI", "inference.do-ai.run", base="GRADIENT_AI_AGENT_ENDPOINT"),
    "helicone": _usual("HELICONE", "ai-gateway.helicone.ai"),
    "heroku": _usual("HEROKU"),
    "hyperbolic": _usual("HYPERBOLIC", "api.hyperbolic.xyz"),
    "inception": _usual("INCEPTION", "api.inceptionlabs.ai"),
    "infinity": _usual("INFINITY"),
    "jina_ai": KeyRule(
        keys=("JINA_AI_API_KEY", "JINA_API_KEY", "JINA_AI_TOKEN"), hosts=("api.jina.ai",), bases=("JINA_AI_API_BASE",)
    ),
    "lambda_ai": _usual("LAMBDA", "api.lambda.ai"),
    "langflow": _usual("LANGFLOW", "localhost"),
    "langgraph": _usual("LANGGRAPH", "localhost"),
    "lemonade": _usual("LEMONADE", "localhost"),
    "libertai": _usual("LIBERTAI", "api.libertai.io"),
    "litellm_proxy": _usual("LITELLM_PROXY"),
    "llamagate": _usual("LLAMAGATE", "api.llamagate.dev"),
    "manus": _usual("MANUS", "api.manus.im"),
    "maritalk": _usual("MARITALK", "chat.maritaca.ai"),
    "meta": _usual("META", "api.meta.ai"),
    "meta_llama": _usual("LLAMA", "api.llama.com"),
    "minimax": _usual("MINIMAX", "api.minimax.io", "api.minimaxi.com"),
    "modelscope": _usual("MODELSCOPE", "api-inference.modelscope.cn"),
    "morph": _usual("MORPH", "api.morphllm.com"),
    "nano-gpt": _usual("NANOGPT", "nano-gpt.com"),
    "nebius": _usual("NEBIUS", "api.studio.nebius.ai", "api.studio.nebius.com"),
    "neosantara": _usual("NEOSANTARA", "api.neosantara.xyz"),
    "nlp_cloud": _usual("NLP_CLOUD", "api.nlpcloud.io"),
    "novita": _usual("NOVITA", "api.novita.ai"),
    "nscale": _usual("NSCALE", "inference.api.nscale.com"),
    "nvidia_nim": _usual("NVIDIA_NIM", "integrate.api.nvidia.com"),
    "nvidia_riva": KeyRule(
        keys=("NVIDIA_RIVA_API_KEY", "NVIDIA_NIM_API_KEY"), hosts=("grpc.nvcf.nvidia.com",),
        bases=("NVIDIA_RIVA_API_BASE",),
    ),
    "oci": KeyRule(hosts=(".oraclecloud.com", ".oraclegovcloud.com"), others=("OCI_*",)),
    "ollama": KeyRule(keys=("OLLAMA_API_KEY",), hosts=("localhost",), bases=("OLLAMA_API_BASE", "OLLAMA_HOST")),
    "ovhcloud": _usual("OVHCLOUD", ".endpoints.kepler.ai.cloud.ovh.net"),
    "parasail": _usual("PARASAIL", "api.parasail.io"),
    "petals": KeyRule(),
    "pinstripes": _usual("PINSTRIPES", "pinstripes.io"),
    "poe": _usual("POE", "api.poe.com"),
    "predibase": KeyRule(
        keys=("PREDIBASE_API_KEY",), hosts=("serving.app.predibase.com",), others=("PREDIBASE_TENANT_ID",)
    ),
    "publicai": _usual("PUBLICAI", "api.publicai.co"),
    "qwen_ai_platform": KeyRule(
        keys=("QWEN_AI_PLATFORM_API_KEY", "DASHSCOPE_API_KEY"), hosts=("dashscope.aliyuncs.com",),
        bases=("QWEN_AI_PLATFORM_API_BASE",),
    ),
    "qwencloud": KeyRule(
        keys=("QWENCLOUD_API_KEY", "DASHSCOPE_API_KEY"), hosts=("dashscope-intl.aliyuncs.com",),
        bases=("QWENCLOUD_API_BASE",),
    ),
    "ragflow": _usual("RAGFLOW"),
    "replicate": KeyRule(
        keys=("REPLICATE_API_KEY", "REPLICATE_API_TOKEN"), hosts=(".replicate.com",), bases=("REPLICATE_API_BASE",)
    ),
    "sagemaker": KeyRule(hosts=_AMAZON_HOSTS, others=("AWS_*", "BOTO_CONFIG")),
    "sagemaker_chat": KeyRule(hosts=_AMAZON_HOSTS, others=("AWS_*", "BOTO_CONFIG")),
    "sagemaker_nova": KeyRule(hosts=_AMAZON_HOSTS, others=("AWS_*", "BOTO_CONFIG")),
    "sap": KeyRule(
        hosts=(".hana.ondemand.com",), bases=("AICORE_BASE_URL", "AICORE_AUTH_URL", "AICORE_CERT_URL"),
        others=("AICORE_*", "VCAP_SERVICES"),
    ),
    "sarvam": _usual("SARVAM", "api.sarvam.ai"),
    "scaleway": KeyRule(keys=("SCW_SECRET_KEY",), hosts=("api.scaleway.ai",)),
    "scx-ai": _usual("SCX", "api.scx.ai"),
    "snowflake": KeyRule(
        keys=("SNOWFLAKE_JWT",), hosts=(".snowflakecomputing.com",), bases=("SNOWFLAKE_API_BASE",),
        others=("SNOWFLAKE_ACCOUNT_ID",),
    ),
    "soniox": _usual("SONIOX", "api.soniox.com"),
    "synthetic": _usual("SYNTHETIC", "api.synthetic.new"),
    "tencent": _usual("TENCENT", "tokenhub-intl.tencentcloudmaas.com"),
    "tensormesh": _usual(
        "TENSORMESH_INFERENCE", "serverless.tensormesh.ai", base="TENSORMESH_SERVERLESS_BASE_URL"
    ),
    "text-completion-codestral": _usual("CODESTRAL", "codestral.mistral.ai"),
    "text-completion-inception": _usual("INCEPTION", "api.inceptionlabs.ai"),
    "text-completion-openai": KeyRule(
        keys=("OPENAI_API_KEY",), hosts=("api.openai.com",), bases=("OPENAI_BASE_URL", "OPENAI_API_BASE"),
        others=_OPENAI,
    ),
    "triton": KeyRule(),
    "v0": _usual("V0", "api.v0.dev"),
    "veniceai": KeyRule(keys=("VENICE_AI_API_KEY",), hosts=("api.venice.ai",)),
    "vertex_ai": KeyRule(hosts=(".googleapis.com",), bases=("VERTEXAI_API_BASE", "VERTEX_API_BASE"), others=_VERTEX),
    "vertex_ai_beta": KeyRule(
        hosts=(".googleapis.com",), bases=("VERTEXAI_API_BASE", "VERTEX_API_BASE"), others=_VERTEX
    ),
    "volcengine": KeyRule(
        keys=("VOLCENGINE_API_KEY", "ARK_API_KEY"), hosts=(".volces.com",), bases=("VOLCENGINE_API_BASE",)
    ),
    "voyage": _usual("VOYAGE", "api.voyageai.com"),
    "wandb": _usual("WANDB", "api.inference.wandb.ai"),
    "watsonx": _WATSONX,
    "watsonx_text": _WATSONX,
    "xiaomi_mimo": _usual("XIAOMI_MIMO", "api.xiaomimimo.com"),
    "xinference": _usual("XINFERENCE"),
}  # fmt: skip
"""Providers that rundry reaches through litellm. Without `hosts`, only an address of the user is reached."""

_MORE_OF_DIRECT = {"openai": _OPENAI}
"""What litellm also reads for a provider of `TRAITS`, where it writes the request (OpenAI's Responses API)."""


@cache
def access_of(provider: str) -> KeyRule:
    """Return the provider's row. A provider without one has no key and no host of its own."""
    if (traits := TRAITS.get(provider)) is None:
        return _BY_LITELLM.get(provider, KeyRule())
    hosts = () if traits.base is None else (host_of(traits.base),)
    return KeyRule(keys=traits.keys, hosts=hosts, bases=traits.bases, others=_MORE_OF_DIRECT.get(provider, ()))


PROVIDERS = frozenset({*TRAITS, *_BY_LITELLM})
"""Providers with a row."""
KEY_NAMES: dict[str, tuple[str, ...]] = {p: keys for p in (*TRAITS, *_BY_LITELLM) if (keys := access_of(p).keys)}
"""Environment variables for each provider's key, the usual one first."""

_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL|JWT|VCAP_SERVICES|CERT_STR|OPENAI_(ORG|PROJECT)")
_PLACE = re.compile(r"_(URL|FILE|PATH|DIR|BASE|ENDPOINT)$|ENDPOINT_MODE$|_PROFILE")


def is_secret(name: str) -> bool:
    """Return whether the variable of a provider holds a secret, not the place of one or an address."""
    return _SECRET.search(name) is not None and _PLACE.search(name) is None


_NAMES_A_CREDENTIAL = re.compile(
    r"PROFILE|_ROLE_|WEB_IDENTITY|CONTAINER_CREDENTIALS|(KEY|TOKEN)_FILE|AICORE_CLIENT_ID|OCI_(USER|FINGERPRINT|TENANCY)"
)


def is_credential(name: str) -> bool:
    """Return whether the variable of a provider holds a secret, or names one: a profile, a role, a file, a user."""
    return is_secret(name) or _NAMES_A_CREDENTIAL.search(name) is not None
