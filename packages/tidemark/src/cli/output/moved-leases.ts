import type { MovedLease } from '@tidemark/processor'
import type { CommandContext } from '../command-context.ts'
import { writeJsonLine, writeText } from './json-lines.ts'
import { textTable } from './text-table.ts'

/** Prints what was done to leases, or would be done. */
export async function writeMoves(
  { output }: CommandContext,
  moves: readonly MovedLease[],
  { json }: { readonly json?: boolean | undefined },
): Promise<void> {
  if (json === true) {
    for (const { leaseId, fromLsn, toLsn } of moves) {
      await writeJsonLine(output, { range: leaseId, fromLsn, toLsn })
    }
    return
  }
  const rows = moves.map(({ leaseId, fromLsn, toLsn }) => {
    return [leaseId, fromLsn ?? '-', toLsn, effectOf(fromLsn, toLsn)]
  })
  await writeText(output, textTable(['RANGE', 'FROM LSN', 'TO LSN', 'EFFECT'], rows))
}

function effectOf(fromLsn: number | undefined, toLsn: number): string {
  if (fromLsn === undefined) return 'new'
  if (toLsn < fromLsn) return 'delivers again'
  return toLsn > fromLsn ? 'skips' : 'stays'
}
