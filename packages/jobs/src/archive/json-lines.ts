import { feedRangeId, type FeedRange } from '@tidemark/contracts'
import type { ArchiveLine } from './archived-document.ts'

/** What the names of an archive's files end in. Other files of the folder are none of its business. */
export const FILE_SUFFIX = '.jsonl'

/** Keys are up to 200 characters long, names of files up to 255 bytes. */
const MAX_KEY_CHARS = 24

/**
 * Name of a file, by range, owner and count; no two files that are there at once have the same one. In
 * order of name, files of one range and owner are in the order in which they were written.
 */
export function fileName(
  { range, epoch }: { readonly range: FeedRange; readonly epoch: number },
  count: number,
): string {
  const [min = '', max = ''] = feedRangeId(range).split('-')
  const keys = [min === '' ? '00' : min, max].map((key) => key.slice(0, MAX_KEY_CHARS))
  const number = String(count).padStart(6, '0')
  return `archive-${keys.join('-')}-${epoch}-${number}${FILE_SUFFIX}`
}

/** One line for each entry, with its line feed: what lacks one was torn by a crash. */
export function encodeLines(batch: readonly ArchiveLine[]): string {
  return batch.map((archived) => `${JSON.stringify(archived)}\n`).join('')
}

/** The entry of a line; undefined when it is none. */
export function decodeLine<Line extends ArchiveLine>(line: string): Line | undefined {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    return undefined
  }
  return isLine<Line>(value) ? value : undefined
}

function isLine<Line extends ArchiveLine>(value: unknown): value is Line {
  if (typeof value !== 'object' || value === null) return false
  const document: unknown = Reflect.get(value, 'document')
  const isDocument = typeof document === 'object' && document !== null
  // Of what was deleted there may be no version.
  const isWithout = document === undefined && Reflect.get(value, 'operation') === 'delete'
  return (
    (typeof Reflect.get(value, 'collectionRid') === 'string' ||
      typeof Reflect.get(value, 'key') === 'string') &&
    typeof Reflect.get(value, 'id') === 'string' &&
    typeof Reflect.get(value, 'lsn') === 'number' &&
    (isDocument || isWithout)
  )
}
