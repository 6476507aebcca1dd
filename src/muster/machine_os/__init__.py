# SPDX-License-Identifier: Apache-2.0
"""The machine OS: a small live ISO and disk image, made from Debian packages, that behaves as CoreOS does."""
