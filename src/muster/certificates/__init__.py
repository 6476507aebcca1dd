# SPDX-License-Identifier: Apache-2.0
"""Keys, certificates and kubeconfigs, made of what is passed in: there is no randomness of their own."""
