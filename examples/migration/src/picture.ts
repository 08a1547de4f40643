import type { MigrationProgress } from 'tidemark'

/** What the picture shows beside the migration's own progress. */
export interface Scene {
  readonly elapsedMs: number
  readonly workers: readonly { readonly name: string; readonly status: string }[]
  readonly writes: number
  readonly takeovers: number
}

const BAR = 40

/** The lines of the live picture: who owns which range, how far it is, how fast. */
export function pictureLines(progress: MigrationProgress, scene: Scene): readonly string[] {
  const { documents, remaining, ratePerSecond, lag, updates, moves } = progress
  const total = documents + remaining
  const share = total === 0 ? 0 : documents / total
  const workers = scene.workers.map(({ name, status }) => `${name} ${status}`).join('   ')
  return [
    `${bar(share)} ${percent(share)}  ${number(documents)} of ${number(total)} documents`,
    `${number(ratePerSecond)}/s   lag ${number(lag)}   ${number(updates)} updates followed, ${number(moves)} moved   writer: ${number(scene.writes)} writes   ${(scene.elapsedMs / 1000).toFixed(0)} s`,
    `${workers}   takeovers ${scene.takeovers}`,
    '',
    [
      'range'.padEnd(17),
      'owner'.padEnd(10),
      'documents'.padStart(11),
      'updates'.padStart(10),
      'lag'.padStart(10),
    ].join(' '),
    ...progress.ranges.map((range, index) =>
      [
        `${String(index).padStart(2)} from ${(range.range.minInclusive || '0').slice(0, 8).padEnd(9)}`,
        (range.owner ?? '-').padEnd(10),
        number(range.documents).padStart(11),
        number(range.updates).padStart(10),
        number(range.lag).padStart(10),
      ].join(' '),
    ),
  ]
}

/** The same as one line, where lines cannot be drawn over. */
export function plainLine(progress: MigrationProgress, scene: Scene): string {
  const owners = Map.groupBy(progress.ranges, ({ owner }) => owner ?? 'nobody')
  const shares = [...owners].map(([owner, ranges]) => `${owner}:${ranges.length}`).sort()
  const { documents, remaining, ratePerSecond, lag } = progress
  return (
    `${(scene.elapsedMs / 1000).toFixed(1).padStart(5)} s  ${number(documents)}/${number(documents + remaining)} documents  ` +
    `${number(ratePerSecond)}/s  lag ${number(lag)}  ${number(scene.writes)} writes  ranges ${shares.join(' ')}`
  )
}

function bar(share: number): string {
  const full = Math.round(share * BAR)
  return `[${'#'.repeat(full)}${'.'.repeat(BAR - full)}]`
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1).padStart(5)} %`
}

function number(value: number): string {
  return Math.round(value).toLocaleString('en-US')
}
