# SPDX-License-Identifier: Apache-2.0
"""Operations on infra-envs: discovery images, and the files that they are made of."""

from __future__ import annotations

from typing import Final

from muster.service.api.table.route import PREFIX, USER, WATCHER, Route, image, narrowed, under

_START: Final = f"{PREFIX}/v2/infra-envs"
_get = under("GET", _START)
_post = under("POST", _START)
_patch = under("PATCH", _START)
_delete = under("DELETE", _START)

INFRA_ENVS: Final[tuple[Route, ...]] = (
    _post(
        "",
        "RegisterInfraEnv",
        USER,
        201,
        "Create an infra-env: what a discovery image is made from, and the pool that its hosts appear in.",
    ),
    narrowed(_get("", "ListInfraEnvs", USER | WATCHER, 200, "List the infra-envs that the caller may see.")),
    _get("/{infra_env_id}", "GetInfraEnv", USER, 200, "Show one infra-env."),
    _patch("/{infra_env_id}", "UpdateInfraEnv", USER, 201, "Change an infra-env; its image changes with it."),
    _delete(
        "/{infra_env_id}", "DeregisterInfraEnv", USER, 204, "Delete an infra-env that has no hosts left."
    ),
    _get(
        "/{infra_env_id}/downloads/image-url",
        "GetInfraEnvDownloadURL",
        USER,
        200,
        "Get an address of the discovery image that works for a limited time.",
    ),
    _get(
        "/{infra_env_id}/downloads/files",
        "v2DownloadInfraEnvFiles",
        USER | image("iPXE fetches its script, a program one file, with a signed address"),
        200,
        "Download a file of an infra-env: Ignition of the discovery image, iPXE script, static network.",
    ),
    _get(
        "/{infra_env_id}/downloads/files-presigned",
        "GetInfraEnvPresignedFileURL",
        USER,
        200,
        "Get an address of a file of an infra-env that works for a limited time.",
    ),
    _post(
        "/{infra_env_id}/regenerate-signing-key",
        "RegenerateInfraEnvSigningKey",
        USER,
        204,
        "Make all addresses of images that were given out so far worthless.",
    ),
    _get(
        "/{infra_env_id}/downloads/minimal-initrd",
        "DownloadMinimalInitrd",
        USER,
        200,
        "Download what is added to the initrd of the minimal image, if there is anything.",
    ),
)
