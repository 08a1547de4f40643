import { chmod, mkdir, open, stat, type FileHandle } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { InvalidOptionError, errorCode, feedRangeId, type FeedRange } from '@tidemark/contracts'
import { checkOptions, option, requiredOption } from '@tidemark/contracts/internal'
import type { Sink, SinkContext } from '../../sync/sink.ts'
import { archiveKey, type ArchiveLine } from '../archived-document.ts'
import { decodeLine, encodeLines, fileName } from '../json-lines.ts'

export interface JsonLinesSinkOptions {
  /** Made if it is missing. Several workers, and several archives, may write into one folder. */
  readonly folder: string
  /**
   * Who may read what is written: `owner`, the user of this process; `group`, the folder's group too, which may write to
   * a folder that is made. @default 'owner'
   */
  readonly access?: 'owner' | 'group' | undefined
  /** A file that has grown beyond this is followed by a new one. @range 1 or more @default 64 MiB */
  readonly maxFileBytes?: number | undefined
}

const DEFAULT_MAX_FILE_BYTES = 64 * 1024 * 1024
const FILE_MODE = { owner: 0o600, group: 0o640 } as const
/** A group's folder hands its group on to the files in it. */
const FOLDER_MODE = { owner: 0o700, group: 0o2770 } as const
/** Batches of a range that `verify` still finds; it is asked right after `write`. */
const REMEMBERED_WRITES = 4

/** A sink for archives and for `syncTo`. */
export type JsonLinesSink = Required<Pick<Sink<ArchiveLine>, 'write' | 'verify'>>

/**
 * Appends archived documents, or changes, to files in a folder, one JSON line each: at least once, and each once for
 * `readJsonLines`. When `write` resolves they are on the disk: the file is synced, and so is the folder when a file was made.
 *
 * Every sink writes files of its own, by range and owner, and never into one that is there already; after
 * a write that failed it begins another file. So what a crash tore is the end of a file and stays there,
 * and `readJsonLines` passes it over.
 *
 * @throws ERR_INVALID_OPTION
 */
export function jsonLinesSink(options: JsonLinesSinkOptions): JsonLinesSink {
  checkOptions(options, {
    folder: requiredOption(option.text),
    access: option.text,
    maxFileBytes: option.number,
  })
  const { folder, access = 'owner', maxFileBytes = DEFAULT_MAX_FILE_BYTES } = options
  if (folder === '') throw new InvalidOptionError('folder must not be empty')
  if (!Number.isSafeInteger(maxFileBytes) || maxFileBytes < 1) {
    throw new InvalidOptionError(`maxFileBytes must be a whole number above 0, got ${maxFileBytes}`)
  }
  if (access !== 'owner' && access !== 'group') {
    throw new InvalidOptionError(`access must be 'owner' or 'group', got ${JSON.stringify(access)}`)
  }
  return new LinesInFolder(resolve(folder), { access, maxFileBytes })
}

/** The file that a range's next lines go to. */
interface OpenFile {
  readonly epoch: number
  readonly path: string
  /** Bytes that are known to be on the disk, and nothing else. */
  bytes: number
}

interface RangeFiles {
  /** Undefined before the first write, and after a failed one. */
  current: OpenFile | undefined
  /** Where the last batches are, for `verify`. */
  readonly recent: { readonly path: string; readonly at: number; readonly bytes: number }[]
  /** The write before: one at a time. */
  last: Promise<void>
}

class LinesInFolder implements JsonLinesSink {
  readonly #folder: string
  readonly #access: 'owner' | 'group'
  readonly #maxFileBytes: number
  readonly #ranges = new Map<string, RangeFiles>()
  #made: Promise<void> | undefined

  constructor(
    folder: string,
    { access, maxFileBytes }: { readonly access: 'owner' | 'group'; readonly maxFileBytes: number },
  ) {
    this.#folder = folder
    this.#access = access
    this.#maxFileBytes = maxFileBytes
  }

  async write(batch: readonly ArchiveLine[], context: SinkContext): Promise<void> {
    const files = this.#filesOf(context.range)
    const written = files.last.then(() => this.#append(files, batch, context))
    files.last = written.catch(() => {})
    return written
  }

  async verify(batch: readonly ArchiveLine[], { range }: SinkContext): Promise<readonly boolean[]> {
    const found = new Map<string, ArchiveLine>()
    for (const written of this.#filesOf(range).recent) {
      for (const line of (await readPart(written)).split('\n').slice(0, -1)) {
        const archived = decodeLine(line)
        if (archived !== undefined) found.set(archiveKey(archived), archived)
      }
    }
    return batch.map((archived) => {
      const present = found.get(archiveKey(archived))
      return present !== undefined && isDeepStrictEqual(present, stored(archived))
    })
  }

  #filesOf(range: FeedRange): RangeFiles {
    const id = feedRangeId(range)
    const known = this.#ranges.get(id)
    if (known !== undefined) return known
    const files = { current: undefined, recent: [], last: Promise.resolve() }
    this.#ranges.set(id, files)
    return files
  }

  async #append(
    files: RangeFiles,
    batch: readonly ArchiveLine[],
    { range, fence, signal }: SinkContext,
  ): Promise<void> {
    signal.throwIfAborted()
    const bytes = Buffer.from(encodeLines(batch))
    await this.#makeFolder()
    const { current } = files
    // Whatever goes wrong from here on: nothing is ever appended to that file again.
    files.current = undefined
    const fits = current?.epoch === fence.epoch && current.bytes < this.#maxFileBytes
    let file = fits ? current : undefined
    let handle = file && (await reopened(file))
    if (handle === undefined || file === undefined) {
      const made = await this.#newFile({ range, epoch: fence.epoch })
      handle = made.handle
      file = made.file
    }
    try {
      await writeAll(handle, bytes, file.bytes)
      await handle.sync()
    } finally {
      await handle.close()
    }
    if (file.bytes === 0) await syncFolder(this.#folder)
    files.recent.push({ path: file.path, at: file.bytes, bytes: bytes.length })
    if (files.recent.length > REMEMBERED_WRITES) files.recent.shift()
    file.bytes += bytes.length
    files.current = file
  }

  /** Under a name that nobody has, whoever else writes into the folder. */
  async #newFile(owner: {
    readonly range: FeedRange
    readonly epoch: number
  }): Promise<{ readonly file: OpenFile; readonly handle: FileHandle }> {
    for (let count = 1; ; count += 1) {
      const path = join(this.#folder, fileName(owner, count))
      try {
        const handle = await open(path, 'wx', FILE_MODE[this.#access])
        // The umask may have taken the group's rights away.
        if (this.#access === 'group') await handle.chmod(FILE_MODE.group)
        return { file: { epoch: owner.epoch, path, bytes: 0 }, handle }
      } catch (error) {
        if (errorCode(error) !== 'EEXIST') throw error
      }
    }
  }

  async #makeFolder(): Promise<void> {
    this.#made ??= makeFolder(this.#folder, FOLDER_MODE[this.#access])
    try {
      await this.#made
    } catch (error) {
      this.#made = undefined
      throw error
    }
  }
}

/** As it is once it was a line: what is undefined is not there. */
function stored(archived: ArchiveLine): unknown {
  const text = JSON.stringify(archived)
  return JSON.parse(text)
}

/** The system may take less at a time than it is given. */
async function writeAll(handle: FileHandle, bytes: Buffer, at: number): Promise<void> {
  for (let done = 0; done < bytes.length;) {
    const { bytesWritten } = await handle.write(bytes, done, bytes.length - done, at + done)
    done += bytesWritten
  }
}

async function readPart({
  path,
  at,
  bytes,
}: {
  readonly path: string
  readonly at: number
  readonly bytes: number
}): Promise<string> {
  const handle = await open(path, 'r')
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(bytes), 0, bytes, at)
    return buffer.toString('utf8', 0, bytesRead)
  } finally {
    await handle.close()
  }
}

/** Undefined when the file is gone, or is not as it was left. */
async function reopened({ path, bytes }: OpenFile): Promise<FileHandle | undefined> {
  let handle: FileHandle
  try {
    handle = await open(path, 'r+')
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined
    throw error
  }
  const isAsLeft = await hasSize(handle, bytes)
  if (isAsLeft) return handle
  await handle.close()
  return undefined
}

async function hasSize(handle: FileHandle, bytes: number): Promise<boolean> {
  try {
    return (await handle.stat()).size === bytes
  } catch (error) {
    await handle.close()
    throw error
  }
}

/**
 * Makes the folder and those above it, and syncs where they were made. Node's own way does not end where a system refuses a name as if
 * its parent were missing, as /proc does.
 */
async function makeFolder(folder: string, mode: number): Promise<void> {
  try {
    if ((await stat(folder)).isDirectory()) return
  } catch {
    await makeFolder(dirname(folder), mode)
  }
  try {
    await mkdir(folder, { mode })
    if (mode === FOLDER_MODE.group) await chmod(folder, mode)
  } catch (error) {
    // Another worker was first.
    if (errorCode(error) !== 'EEXIST') throw error
  }
  await syncFolder(dirname(folder))
}

/** A new name is on the disk only once its folder is. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
