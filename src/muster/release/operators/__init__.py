# SPDX-License-Identifier: Apache-2.0
"""Add-ons of an OpenShift cluster: operators that its lifecycle manager (OLM) installs, described as data."""
