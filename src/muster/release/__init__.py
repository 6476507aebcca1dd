# SPDX-License-Identifier: Apache-2.0
"""What is installed: images by digest, where they are kept, and how they come here and go on."""
