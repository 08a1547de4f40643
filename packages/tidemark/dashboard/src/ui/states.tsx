import type { VNode } from 'preact'
import type { HostState, LeaseRow, LeaseState, Severity } from '../../../src/dashboard/views.ts'
import { Icon, type IconName } from './icon.tsx'

type Tone = 'good' | 'warn' | 'bad' | 'quiet'

interface Look {
  readonly icon: IconName
  readonly tone: Tone
  readonly text: string
}

const LEASES: Readonly<Record<LeaseState | 'halted', Look>> = {
  owned: { icon: 'dot', tone: 'good', text: 'owned' },
  moving: { icon: 'move', tone: 'quiet', text: 'moving' },
  expired: { icon: 'warning', tone: 'warn', text: 'expired' },
  orphaned: { icon: 'cross', tone: 'bad', text: 'orphaned' },
  free: { icon: 'ring', tone: 'quiet', text: 'free' },
  paused: { icon: 'pause', tone: 'quiet', text: 'paused' },
  missing: { icon: 'dashed', tone: 'bad', text: 'missing' },
  halted: { icon: 'stop', tone: 'bad', text: 'halted' },
}

const HOSTS: Readonly<Record<HostState, Look>> = {
  live: { icon: 'dot', tone: 'good', text: 'live' },
  silent: { icon: 'warning', tone: 'warn', text: 'silent' },
  standby: { icon: 'pause', tone: 'quiet', text: 'standby' },
  leaving: { icon: 'move', tone: 'quiet', text: 'leaving' },
  gone: { icon: 'cross', tone: 'bad', text: 'gone' },
}

const SEVERITIES: readonly [Look, Look, Look] = [
  { icon: 'dot', tone: 'good', text: 'fine' },
  { icon: 'warning', tone: 'warn', text: 'check' },
  { icon: 'stop', tone: 'bad', text: 'stopped' },
]

/** A halt matters more than who owns the range. */
export function leaseLook({ state, halted }: LeaseRow): Look {
  return LEASES[halted ? 'halted' : state]
}

export function needsLook(lease: LeaseRow): boolean {
  const { tone } = leaseLook(lease)
  return tone === 'warn' || tone === 'bad' || lease.tries > 0 || lease.problem !== null
}

function State({ look }: { readonly look: Look }): VNode {
  return (
    <span class={`state ${look.tone}`}>
      <Icon name={look.icon} />
      {look.text}
    </span>
  )
}

export function LeaseStateText({ lease }: { readonly lease: LeaseRow }): VNode {
  return <State look={leaseLook(lease)} />
}

export function HostStateText({ state }: { readonly state: HostState }): VNode {
  return <State look={HOSTS[state]} />
}

export function SeverityText({ severity }: { readonly severity: Severity }): VNode {
  return <State look={SEVERITIES[severity]} />
}

export function hostIcon(state: HostState): IconName {
  return HOSTS[state].icon
}
