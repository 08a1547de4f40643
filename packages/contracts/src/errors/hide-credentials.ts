/**
 * A text for a log or a terminal, such as the message of an error, without the user names and passwords of URLs in it
 * (malformed ones too) and without the values of `password=`, `AccountKey=` and the like. For every line that this
 * library writes about an error itself. Errors that callers get keep their messages.
 */
export function hideCredentials(text: string): string {
  return text
    .replaceAll(/\S+/g, withoutUser)
    .replaceAll(/\/\/[^\s/]+/g, withoutMistypedUser)
    .replaceAll(BY_NAME, '$1…')
}

/** In the query of a URL, and in connection strings of PostgreSQL and Azure. A quote that is never closed hides the rest. */
const BY_NAME = /(password=|pwd=|AccountKey=|SharedAccessKey=)(?:'[^']*'?|"[^"]*"?|[^&;\s'"]*)/gi

/** Up to the last @: a password may have some, and slashes. */
function withoutUser(word: string): string {
  const at = word.lastIndexOf('@')
  for (let from = 0; ;) {
    const scheme = word.indexOf('://', from)
    if (scheme === -1 || scheme > at) return word
    from = scheme + '://'.length
    // The URLs of files have no credentials, and packages in stack traces have an @ in their paths.
    if (!IS_FILE.test(word.slice(Math.max(scheme - 'file'.length - 1, 0), scheme))) {
      return `${word.slice(0, from)}…${word.slice(at)}`
    }
  }
}

const IS_FILE = /(?:^|[^a-z\d+.-])file$/i

/** Without a colon, as in `redis//user:password@host`. */
function withoutMistypedUser(authority: string): string {
  const at = authority.lastIndexOf('@')
  return authority.slice(0, Math.max(at, 0)).includes(':') ? `//…${authority.slice(at)}` : authority
}
