import { createReadStream } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { DocumentBody, RequestOptions } from '@tidemark/contracts'
import { ArchiveDamagedError } from '../archive-damaged-error.ts'
import { archiveKey, type ArchivedDocument, type ArchiveLine } from '../archived-document.ts'
import { FILE_SUFFIX, decodeLine } from '../json-lines.ts'

/**
 * What `jsonLinesSink` wrote into a folder, archived documents or (`SinkEntry`) changes, each version once: what came twice because a
 * worker was killed is passed over, and so is a last line that a crash tore. Files in order of name;
 * within one, in the order in which they were archived. Memory is for the keys of what was read.
 *
 * Rejects with ERR_ARCHIVE_DAMAGED for a line that is no archived document and is followed by another
 * one, and as the file system does.
 */
export async function* readJsonLines<
  T extends DocumentBody = DocumentBody,
  Line extends ArchiveLine = ArchivedDocument<T>,
>(folder: string, { signal }: RequestOptions = {}): AsyncGenerator<Line, void, undefined> {
  const seen = new Set<string>()
  const names = (await readdir(folder)).filter((name) => name.endsWith(FILE_SUFFIX)).toSorted()
  for (const name of names) {
    for await (const archived of readFileLines<Line>(join(folder, name), signal)) {
      const key = archiveKey(archived)
      if (seen.has(key)) continue
      seen.add(key)
      yield archived
    }
  }
}

async function* readFileLines<Line extends ArchiveLine>(
  path: string,
  signal: AbortSignal | undefined,
): AsyncGenerator<Line, void, undefined> {
  let number = 0
  let torn: number | undefined
  for await (const line of linesOf(path, signal)) {
    number += 1
    if (torn !== undefined) throw damaged(path, torn)
    const archived = decodeLine<Line>(line)
    // Only the end of a file can be torn.
    if (archived === undefined) torn = number
    else yield archived
  }
}

/** Cut at line feeds only: JSON text may hold other line separators. */
async function* linesOf(
  path: string,
  signal: AbortSignal | undefined,
): AsyncGenerator<string, void, undefined> {
  const input: AsyncIterable<string> = createReadStream(path, { encoding: 'utf8', signal })
  let rest = ''
  for await (const piece of input) {
    const lines = `${rest}${piece}`.split('\n')
    rest = lines.pop() ?? ''
    yield* lines
  }
  if (rest !== '') yield rest
}

function damaged(path: string, line: number): ArchiveDamagedError {
  return new ArchiveDamagedError(`${path}:${line} is no archived document`)
}
