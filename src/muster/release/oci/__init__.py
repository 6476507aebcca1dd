# SPDX-License-Identifier: Apache-2.0
"""Images as the Open Container Initiative describes them: names, digests, manifests, registries."""
