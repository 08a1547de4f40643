/**
 * A text for a log or a terminal, such as the message of an error, without the user names and passwords of URLs in it
 * (malformed ones too) and without the values of `password=`, `AccountKey=` and the like. For every line that this
 * library writes about an error itself. Errors that callers get keep their messages.
 */
export function hideCredentials(text: string): string {
  return text
    .replaceAll(IN_URL, '$1…@')
    .replaceAll(WITHOUT_COLON, '//…@')
    .replaceAll(BY_NAME, '$1…')
}

/** The URLs of files have no credentials, and packages in stack traces have an @ in their paths. */
const IN_URL = /\b((?!file:)[a-z][a-z0-9+.-]{0,40}:\/\/)\S*@/gi

/** Mistyped, as in `redis//user:password@host`. */
const WITHOUT_COLON = /\/\/[^\s/]*:[^\s/]*@/g

/** In the query of a URL, and in connection strings of PostgreSQL and Azure. */
const BY_NAME =
  /\b((?:ssl)?password=|pwd=|AccountKey=|SharedAccessKey=)(?:'[^']*'|"[^"]*"|[^&;\s'"]*)/gi
