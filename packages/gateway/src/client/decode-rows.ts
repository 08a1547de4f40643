import { type Change, type DocumentBody, type FeedPage } from '@tidemark/contracts'
import {
  changesOfPortable,
  type FeedRow,
  type PortableChanges,
  type VersionRow,
  isJsonRecord,
} from '@tidemark/contracts/internal'
import {
  TEXTS_START,
  type FeedRowOnWire,
  type VersionOnWire,
  type VersionRowOnWire,
} from '../protocol/extension-wire.ts'
import { notOurs, positionOf } from './call-extension.ts'
import { parsed } from './wire-answer.ts'

/**
 * Makes a page of the text that our gateway answers. Its documents are parsed when somebody looks at them, as in process.
 *
 * @throws ERR_SERVER_UNSUPPORTED when it is none
 */
export function pageOf<T extends DocumentBody>(text: string): FeedPage<T> {
  const end = text.indexOf(TEXTS_START)
  const head = parsed(`${text.slice(0, Math.max(0, end))}}`)
  if (!isJsonRecord(head) || typeof head['caughtUp'] !== 'boolean') throw notOurs('page')
  const changes = changesOf<T>(head, new TextCutter(text, end + TEXTS_START.length))
  return { changes, ...positionOf(head), caughtUp: head['caughtUp'] }
}

function changesOf<T extends DocumentBody>(
  { kind, collection, rows }: Readonly<Record<string, unknown>>,
  texts: TextCutter,
): readonly Change<T>[] {
  if (!Array.isArray(rows) || !isJsonRecord(collection)) throw notOurs('page')
  // Rows are our own gateway's, whose release was seen in the page around them.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- see the line above
  const portable = {
    collection,
    rows: rows.map((row: unknown) =>
      kind === 'versions'
        ? // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- see above
          versionRow(row as VersionRowOnWire, texts)
        : // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- see above
          feedRow(row as FeedRowOnWire, texts),
    ),
  } as unknown as PortableChanges
  return changesOfPortable<T>(portable)
}

function feedRow([lsn, kind, units, ...rest]: FeedRowOnWire, texts: TextCutter): FeedRow {
  return [lsn, kind, texts.next(units), ...rest]
}

function versionRow(row: VersionRowOnWire, texts: TextCutter): VersionRow {
  const withText = (version: VersionOnWire | undefined): VersionRow['current'] =>
    version && { ...version, body: texts.next(version.body) }
  return { ...row, current: withText(row.current), previous: withText(row.previous) }
}

/** Cuts the texts of a page out of its body, one after the other. */
class TextCutter {
  readonly #whole: string
  #at: number

  constructor(whole: string, at: number) {
    this.#whole = whole
    this.#at = at
  }

  /** @throws ERR_SERVER_UNSUPPORTED when it is not as long */
  next(units: number): string {
    const text = this.#whole.slice(this.#at, this.#at + units)
    if (text.length !== units) throw notOurs('page')
    // One comma is between two texts.
    this.#at += units + 1
    return text
  }
}
