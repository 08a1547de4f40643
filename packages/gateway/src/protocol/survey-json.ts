/** What parsing a JSON text takes, found in one pass that makes nothing. Of a text that is not JSON it means nothing. */
export interface JsonSurvey {
  /** Lists and objects inside one another; counted up to the limit that was given, and one more. */
  readonly levels: number
  /** Whether a number may be too large for 64 bits of floating point. */
  readonly mayOverflow: boolean
  /** Lists, objects, names and values, about: each takes time to parse, and memory beside its characters. */
  readonly places: number
}

/** Engines keep an object with a name like this as a dictionary: about 250 bytes more. */
export const INDEX_NAME_PLACES = 30

/** Digits from which a number may be too large. */
const OVERFLOW_DIGITS = 200

export function surveyJson(text: string, maxLevels: number): JsonSurvey {
  let [depth, levels, places, digits] = [0, 0, 0, 0]
  let mayOverflow = false
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code >= ZERO && code <= NINE) {
      if (++digits >= OVERFLOW_DIGITS) mayOverflow = true
      continue
    }
    digits = 0
    switch (code) {
      case QUOTE: {
        const first = text.charCodeAt(at + 1)
        at = endOfString(text, at)
        if (first >= ZERO && first <= NINE && isName(text, at)) places += INDEX_NAME_PLACES
        break
      }
      case OPEN_LIST:
      case OPEN_OBJECT:
        places++
        if (++depth > levels) levels = depth
        if (depth > maxLevels) return { levels, mayOverflow, places }
        break
      case CLOSE_LIST:
      case CLOSE_OBJECT:
        depth--
        break
      case COMMA:
        places++
        break
      case COLON:
        places += 2
        break
      case UPPER_E:
      case LOWER_E:
        if (LARGE_EXPONENT.test(text.slice(at + 1, at + 5))) mayOverflow = true
        break
    }
  }
  return { levels, mayOverflow, places }
}

const LARGE_EXPONENT = /^\+?\d{3}/

const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a]
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d]
const [ZERO, NINE, UPPER_E, LOWER_E] = [0x30, 0x39, 0x45, 0x65]
const SPACES = new Set([0x20, 0x09, 0x0a, 0x0d])

/** Where the string ends that begins at `from`; the end of the text if it does not. */
function endOfString(text: string, from: number): number {
  for (let at = text.indexOf('"', from + 1); at >= 0; at = text.indexOf('"', at + 1)) {
    let escapes = 0
    while (text.charCodeAt(at - 1 - escapes) === BACKSLASH) escapes++
    if (escapes % 2 === 0) return at
  }
  return text.length
}

/** Whether the string that ends there is the name of a property. */
function isName(text: string, end: number): boolean {
  let at = end + 1
  while (SPACES.has(text.charCodeAt(at))) at++
  return text.charCodeAt(at) === COLON
}
