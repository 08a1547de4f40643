import { InputError } from '../input-error.ts'

/** One JSON value of an input, as text that is not parsed yet. */
export interface JsonItem {
  readonly text: string
  /** Line on which it begins, from 1. */
  readonly line: number
}

export interface SplitJsonOptions {
  /** An item with more characters than this ends the input with an error. @default 16 Mi */
  readonly maxItemChars?: number | undefined
}

const MAX_ITEM_CHARS = 16 * 1024 * 1024

/**
 * Cuts JSON Lines, or the elements of one JSON array, out of a stream of text. Keeps only one item and one piece of the
 * stream in memory. The first character that is not a space decides which of the two it is. Among lines, an object can
 * take several, as it is printed for people: from a line that is only `{` to a line that is only `}`, not indented.
 *
 * @throws ERR_INPUT when an item is too long, or the array does not end or is followed by something
 */
export async function* splitJson(
  pieces: AsyncIterable<string> | Iterable<string>,
  { maxItemChars = MAX_ITEM_CHARS }: SplitJsonOptions = {},
): AsyncGenerator<JsonItem> {
  let splitter: LineSplitter | ArraySplitter | undefined
  let skippedLines = 0
  for await (const piece of pieces) {
    let text = piece
    if (splitter === undefined) {
      // A byte order mark counts as a space.
      const start = text.search(/[^\s\uFEFF]/)
      skippedLines += countLines(start < 0 ? text : text.slice(0, start))
      if (start < 0) continue
      text = text.slice(start)
      splitter = text.startsWith('[')
        ? new ArraySplitter(skippedLines + 1)
        : new LineSplitter(skippedLines + 1)
    }
    yield* splitter.push(text)
    if (splitter.pendingChars > maxItemChars) {
      throw new InputError(
        `the item that begins on line ${splitter.line} has more than ${maxItemChars} characters`,
      )
    }
  }
  if (splitter !== undefined) yield* splitter.end()
}

function countLines(text: string): number {
  let count = 0
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) count += 1
  return count
}

class LineSplitter {
  /** On which the next item begins. */
  line: number
  #currentLine: number
  #rest = ''
  /** Lines of an object that takes several. */
  #object = ''

  constructor(line: number) {
    this.line = line
    this.#currentLine = line
  }

  get pendingChars(): number {
    return this.#object.length + this.#rest.length
  }

  *push(piece: string): Generator<JsonItem> {
    const text = this.#rest + piece
    let start = 0
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', start)) {
      yield* this.#take(text.slice(start, end))
      start = end + 1
    }
    this.#rest = text.slice(start)
  }

  *end(): Generator<JsonItem> {
    yield* this.#take(this.#rest)
    if (this.#object !== '') yield { text: this.#object, line: this.line }
  }

  *#take(text: string): Generator<JsonItem> {
    if (this.#object !== '') this.#object += `\n${text}`
    else if (text.trim() === '{') this.#object = text
    else if (text.trim() !== '') yield { text, line: this.line }
    if (this.#object !== '' && text.trimEnd() === '}') {
      yield { text: this.#object, line: this.line }
      this.#object = ''
    }
    this.#currentLine += 1
    if (this.#object === '') this.line = this.#currentLine
  }
}

/** Finds the commas between the elements: outside of strings and of nested values. */
class ArraySplitter {
  line: number
  #pending = ''
  #currentLine: number
  #depth = 0
  #inText = false
  #escaped = false
  #status: 'before' | 'inside' | 'after' = 'before'
  #elements = 0

  constructor(line: number) {
    this.line = line
    this.#currentLine = line
  }

  get pendingChars(): number {
    return this.#pending.length
  }

  *push(piece: string): Generator<JsonItem> {
    let start = 0
    for (let at = 0; at < piece.length; at += 1) {
      const char = piece[at]
      if (char === '\n') this.#currentLine += 1
      if (this.#inText) {
        this.#readText(char)
        continue
      }
      const isSeparator = this.#readStructure(char)
      if (!isSeparator) continue
      const text = this.#pending + piece.slice(start, at)
      this.#pending = ''
      start = at + 1
      if (char !== '[') yield* this.#item(text, char)
    }
    this.#pending += piece.slice(start)
  }

  end(): readonly JsonItem[] {
    if (this.#status === 'inside') {
      throw new InputError(`the input ends inside the array, on line ${this.#currentLine}`)
    }
    if (this.#pending.trim() !== '') {
      throw new InputError(`something follows the array, on line ${this.#currentLine}`)
    }
    return []
  }

  #readText(char: string | undefined): void {
    if (this.#escaped) this.#escaped = false
    else if (char === '\\') this.#escaped = true
    else if (char === '"') this.#inText = false
  }

  /** Whether the character ends an element, or begins or ends the array itself. */
  #readStructure(char: string | undefined): boolean {
    switch (char) {
      case '"':
        this.#inText = true
        return false
      case '[':
      case '{':
        this.#depth += 1
        if (this.#status !== 'before') return false
        this.#status = 'inside'
        return true
      case ']':
      case '}':
        this.#depth -= 1
        if (this.#depth > 0 || this.#status !== 'inside') return false
        this.#status = 'after'
        return true
      case ',':
        return this.#depth === 1 && this.#status === 'inside'
      default:
        return false
    }
  }

  *#item(raw: string, end: string | undefined): Generator<JsonItem> {
    const text = raw.trim()
    const line = this.#currentLine - countLines(raw.trimStart())
    const isEmptyArray = text === '' && end !== ',' && this.#elements === 0
    this.#elements += 1
    this.line = this.#currentLine
    if (!isEmptyArray) yield { text, line }
  }
}
