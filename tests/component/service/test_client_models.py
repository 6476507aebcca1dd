# SPDX-License-Identifier: Apache-2.0
"""The client package from PyPI: its objects are ours, field by field, in both directions."""

from __future__ import annotations

import re
from typing import Any, Final, get_args

import msgspec
import pytest
from msgspec import inspect as types

from muster.model.wire import (
    cluster,
    enums,
    files,
    host,
    infra_env,
    inventory,
    operators,
    reports,
    steps,
    versions,
)
from muster.model.wire.struct import Wire
from tests.component.service.client import ClientField, client_models, fields_of, words_of

MODULES: Final = (cluster, files, host, infra_env, inventory, operators, reports, steps, versions)
OURS: Final = {
    each.__name__: each
    for module in MODULES
    for each in vars(module).values()
    if isinstance(each, type) and issubclass(each, Wire) and each is not Wire
}
RENAMED: Final = {
    "ApiVipConnectivityAdditionalRequestHeader": "ApiVipRequestHeader",
    "DomainResolutionResponseResolutions": "DomainResolution",
    "HostRegistrationResponseNextStepRunnerCommand": "NextStepRunnerCommand",
    "IgnitionEndpointHttpHeadersParams": "IgnitionEndpointHttpHeader",
    "InlineResponse200": "FeatureLevels",
    "InlineResponse2001": "DetailedFeatures",
    "InlineResponse2002": "ArchitectureLevels",
    "MacInterfaceMapInner": "MacInterface",
    "TangConnectivityResponseSignatures": "TangSignature",
    "TangConnectivityResponseTangServerResponse": "TangServerResponse",
}
"""Names that a generator made up."""

ALIASES: Final[dict[str, Any]] = {
    "ClusterList": tuple[cluster.Cluster, ...],
    "ConnectivityCheckParams": tuple[steps.ConnectivityCheckHost, ...],
    "EventList": tuple[files.Event, ...],
    "FreeAddressesRequest": tuple[str, ...],
    "FreeNetworksAddresses": tuple[reports.FreeNetworkAddresses, ...],
    "HostList": tuple[host.Host, ...],
    "InfraEnvList": tuple[infra_env.InfraEnv, ...],
    "IngressCertParams": str,
    "Ip": str,
    "KernelArguments": tuple[infra_env.KernelArgument, ...],
    "ListManagedDomains": tuple[versions.ManagedDomain, ...],
    "ListManifests": tuple[files.Manifest, ...],
    "MacInterfaceMap": tuple[infra_env.MacInterface, ...],
    "MonitoredOperatorsList": tuple[operators.MonitoredOperator, ...],
    "OpenshiftVersions": dict[str, versions.OpenshiftVersion],
    "OperatorProperties": tuple[operators.OperatorProperty, ...],
    "ReleaseSources": tuple[versions.ReleaseSource, ...],
    "Subnet": str,
    "SupportLevels": dict[str, enums.SupportLevel],
    "VerifyVipsRequest": tuple[steps.VerifyVip, ...],
    "VerifyVipsResponse": tuple[reports.VerifiedVip, ...],
    "Versions": dict[str, str],
}
"""Lists, maps and text: the client has a name for each, and no code that looks into them."""

NOT_OFFERED: Final = {
    "ClusterHostRequirements": "no operation answers with it",
    "ClusterHostRequirementsList": "no operation answers with it",
    "FreeAddressesList": "no operation answers with it",
    "HostRoleUpdateParams": "of an operation that is no more",
    "ImageCreateParams": "of an operation that is no more",
    "OsImage": "of the service's own settings",
    "OsImages": "of the service's own settings",
    "ReleaseImage": "of the service's own settings",
    "ReleaseImages": "of the service's own settings",
    "StepsReply": "no operation takes it",
    "Usage": "of the string in feature_usage",
}
FURTHER_FIELDS: Final = {
    "Error": "what to do about it stands beside the reason, too, for pages",
    "Host": "pages show the key of a host, and that it asks to register with another one",
    "HostRegistrationResponse": "agents that are not generated read the host that it is, too",
    "Inventory": "agents of ours tell more than others",
}

OUR_OWN: Final = {
    "EnrolmentApproval": "people approve the key of a host that restarted during its installation",
    "EnrolmentRequest": "people approve the key of a host that restarted during its installation",
    "Extras": "agents of ours tell more than others",
    "HostLogLines": "agents of ours tell their journal",
}


def _model_names() -> list[str]:
    return sorted(name for name, each in client_models().items() if each.swagger_types)


def _enum_names() -> list[str]:
    return sorted(
        name for name, each in client_models().items() if words_of(each) and name not in NOT_OFFERED
    )


def _ours(name: str) -> type[Wire]:
    return OURS[RENAMED.get(name, name)]


@pytest.mark.parametrize("name", [each for each in _model_names() if each not in NOT_OFFERED])
def test_an_object_is_the_same_on_both_sides(name: str) -> None:
    theirs = fields_of(client_models()[name])
    fields = {each.encode_name: each for each in msgspec.structs.fields(_ours(name))}
    wanted = {field: _client_type(each) for field, each in theirs.items()}
    found = {field: _our_type(types.type_info(each.type)) for field, each in fields.items()}
    if name in FURTHER_FIELDS:
        found = {field: each for field, each in found.items() if field in wanted}
    assert found == wanted
    required = {field for field, each in theirs.items() if each.required}
    assert {field for field in found if fields[field].required} == required


def test_nothing_of_the_client_is_forgotten() -> None:
    assert set(client_models()) == {*_model_names(), *_enum_names(), *ALIASES, *NOT_OFFERED}


def test_nothing_is_ours_alone() -> None:
    theirs = {RENAMED.get(name, name) for name in client_models()}
    assert set(OURS) - set(OUR_OWN) <= theirs


@pytest.mark.parametrize("name", _enum_names())
def test_the_words_of_an_enum_are_the_same(name: str) -> None:
    assert set(get_args(getattr(enums, name))) == words_of(client_models()[name])


def _client_type(field: ClientField) -> Any:
    return _named(field.type, field.words)


def _named(kind: str, words: frozenset[str] | None) -> Any:
    if found := re.fullmatch(r"list\[(.*)\]", kind):
        return "list", _named(found[1], words)
    if found := re.fullmatch(r"dict\(str, (.*)\)", kind):
        return "map", _named(found[1], words)
    if kind in ("int", "bool", "float", "datetime", "object"):
        return kind
    if kind == "str":
        return ("words", words) if words else "str"
    if kind in ALIASES:
        return _our_type(types.type_info(ALIASES[kind]))
    words = words_of(client_models()[kind])
    return ("words", words) if words else RENAMED.get(kind, kind)


_PLAIN: Final = {
    types.StrType: "str",
    types.IntType: "int",
    types.BoolType: "bool",
    types.FloatType: "float",
    types.DateTimeType: "datetime",
    types.AnyType: "object",
}


def _our_type(kind: types.Type) -> Any:
    """The same words for our types; what is not given and null are the same."""
    while isinstance(kind, types.Metadata):
        kind = kind.type
    match kind:
        case types.UnionType(inner):
            rest = [each for each in inner if not isinstance(each, types.NoneType)]
            if {type(each) for each in rest} == {types.StrType, types.VarTupleType}:
                return "str"  # A list is taken too: aicli sends one where its own client has text.
            assert len(rest) == 1, kind
            return _our_type(rest[0])
        case types.VarTupleType(item_type=item):
            return "list", _our_type(item)
        case types.DictType(value_type=value):
            return "map", _our_type(value)
        case types.LiteralType(words):
            return "words", frozenset(words)
        case types.StructType(cls):
            return cls.__name__
        case _:
            return _PLAIN[type(kind)]
