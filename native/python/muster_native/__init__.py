# SPDX-License-Identifier: Apache-2.0
"""nmstate's offline keyfile generation; README.md says what it does not check."""

from muster_native._native import NmstateError, gen_conf

__all__ = ["NmstateError", "gen_conf"]
