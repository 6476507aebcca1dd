# SPDX-License-Identifier: Apache-2.0
"""Kinds of releases: how the image that lists all others is read, ours and OpenShift's."""
