# SPDX-License-Identifier: Apache-2.0
"""Formats of others that stand in values and beside them: SSH keys, certificates, image names, logins."""
