# SPDX-License-Identifier: Apache-2.0
"""What is kept between runs, by content: images, hashes of local files, and what is derived from them."""
