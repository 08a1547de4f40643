import {
  TRANSITIONS_KEPT,
  inTimeOrder,
  isHostSummary,
  isLeaseTransition,
  type HostNote,
  type HostSummary,
  type LeaseTransition,
} from '@tidemark/contracts'
import { replyList, replyText } from './lease-replies.ts'

/** Arguments of note.lua. */
export function noteArgs({ summary, transitions }: HostNote): readonly string[] {
  const told = transitions.map((transition) => JSON.stringify(transition))
  return [summary.host, JSON.stringify(summary), String(TRANSITIONS_KEPT), ...told]
}

/** An answer of read-notes.lua, without what no host wrote. */
export function parseSummaries(reply: unknown): readonly HostSummary[] {
  return hashValues(reply).map(parsed).filter(isHostSummary)
}

export function parseTransitions(reply: unknown): readonly LeaseTransition[] {
  const told = hashValues(reply)
    .map((text) => text.split(/\|(.*)/s, 2))
    .sort(([a], [b]) => Number(a) - Number(b))
    .map(([, transition]) => parsed(transition))
  return inTimeOrder(told.filter(isLeaseTransition))
}

function hashValues(fields: unknown): readonly string[] {
  return replyList(fields)
    .filter((_, index) => index % 2 === 1)
    .map(replyText)
}

function parsed(text = ''): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
