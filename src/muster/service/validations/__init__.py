# SPDX-License-Identifier: Apache-2.0
"""Whether hosts and clusters are fit, each question in a function of its own."""
