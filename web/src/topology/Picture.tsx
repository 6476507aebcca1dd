// SPDX-License-Identifier: Apache-2.0
/** The picture: networks as lines, hosts below them, virtual addresses at the end of their line. */
import type { Net, Node, Picture as Drawn, Vip } from "./model";
import { t, tn } from "../i18n";

const SHOWN = 12;
const HOST = { width: 130, height: 44, gap: 16 };
const NET = { top: 30, step: 54 };
const LEFT = 20;
const VIPS = 190;

export function Picture({ drawn }: { drawn: Drawn }) {
  const nodes = drawn.nodes.slice(0, SHOWN);
  const width = LEFT + Math.max(3, nodes.length) * (HOST.width + HOST.gap) + VIPS;
  const base = NET.top + drawn.nets.length * NET.step + 10;
  const more = drawn.nodes.length - nodes.length;
  return (
    <>
      <svg width={width} viewBox={`0 0 ${width} ${base + HOST.height + 10}`} className="app-picture" role="img" aria-label={t("topology.alt")}>
        {drawn.nets.map((net, row) => (
          <NetLine key={net.cidr} net={net} y={NET.top + row * NET.step} width={width} vips={drawn.vips.filter((vip) => vip.network === net.cidr)} />
        ))}
        {nodes.map((node, column) => (
          <HostBox key={node.id} node={node} x={LEFT + column * (HOST.width + HOST.gap)} y={base} nets={drawn.nets} />
        ))}
      </svg>
      {more > 0 && <p className="app-quiet">{tn("topology.more", more)}</p>}
    </>
  );
}

function NetLine({ net, y, width, vips }: { net: Net; y: number; width: number; vips: Vip[] }) {
  return (
    <g className={net.isMachine ? "app-net app-net-machine" : "app-net"}>
      <line x1={LEFT} x2={width - 10} y1={y} y2={y} />
      <text x={LEFT} y={y - 8}>
        {net.cidr}
        {net.isMachine ? ` · ${t("topology.machine")}` : ""}
      </text>
      {vips.map((vip, at) => (
        <g key={`${vip.kind} ${vip.ip}`} className={`app-vip app-vip-${vip.state}`}>
          <circle cx={width - VIPS + 20} cy={y + at * 20} r={6} />
          <text x={width - VIPS + 32} y={y + 14 + at * 16}>
            {t(`topology.${vip.kind}`)} {vip.ip}
          </text>
        </g>
      ))}
    </g>
  );
}

function HostBox({ node, x, y, nets }: { node: Node; x: number; y: number; nets: Net[] }) {
  const linked = nets.map((net, row) => ({ net, row })).filter(({ net }) => node.places.has(net.cidr));
  return (
    <g className={node.isIn ? "app-box" : "app-box app-box-out"}>
      {linked.map(({ net, row }, at) => {
        const link = x + 30 + at * 30;
        const top = NET.top + row * NET.step;
        return (
          <g key={net.cidr} className={net.isMachine ? "app-net-machine" : "app-net"}>
            <line x1={link} x2={link} y1={top} y2={y} />
            <circle cx={link} cy={top} r={4} />
          </g>
        );
      })}
      <rect x={x} y={y} width={HOST.width} height={HOST.height} rx={6} />
      <text x={x + HOST.width / 2} y={y + 19} textAnchor="middle">
        {shorten(node.name)}
      </text>
      <text x={x + HOST.width / 2} y={y + 35} textAnchor="middle" className="app-box-small">
        {[...node.places.values()][0]?.split(" ")[0] ?? ""}
      </text>
    </g>
  );
}

function shorten(name: string): string {
  return name.length > 17 ? `${name.slice(0, 8)}…${name.slice(-7)}` : name;
}
