"""Texts that look like keys."""

from __future__ import annotations

CANARY = 'canary/+"key" with=all&kinds%of\\signs-ü'


PLAIN = "canaryAbc123Xyz789"


JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P"


PEM = (
    "-----BEGIN RSA PRIVATE KEY-----\n"
    + "\n".join("MIIEpAIBAAKCAQEA7bq8xW3n5T9zQh4kVvYp1sG0Rf6uLd2mCj8aOeIwXcZtBy+/"[n:] for n in range(3))
    + "\nQ==\n-----END RSA PRIVATE KEY-----"
)


SHAPES = [
    "sk-proj-AbCdEfGhIjKlMnOpQrSt12",
    "sk-ant-api03-abcdefghijklmnopqrstuvwxyz-_AA",
    "sk-or-v1-0123456789abcdef0123456789abcdef",
    "AIzaSyA1234567890abcdefghijklmnopqrstuv",
    "ghp_0123456789abcdefghijABCDEFGHIJ012345",
    "gho_0123456789abcdefghijABCDEFGHIJ012345",
    "github_pat_11ABCDEFG0abcdefghij_klmnopqrstuv",
    "AKIAIOSFODNN7EXAMPLE",
    "xoxb-1234567890-abcdefghij",
    "hf_abcdefghijklmnopqrstuvwxyzABCDEFGH",
    "gsk_abcdefghijklmnopqrstuvwxyz0123456789",
    "glpat-abcdefghij0123456789",
    JWT,
]
