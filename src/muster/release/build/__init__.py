# SPDX-License-Identifier: Apache-2.0
"""How a Kubernetes release is made: Go's modules in, images in a store out. Its recipe is payload/."""
