# SPDX-License-Identifier: Apache-2.0
"""The management controllers of the lab's machines: power, boot order and virtual media by Redfish."""
