/** Replaces user names and passwords of URLs in a text, including malformed URLs. */
export function hideCredentials(text: string): string {
  return text
    .replaceAll(/\b([a-z][a-z0-9+.-]*:\/\/)\S*@/gi, '$1…@')
    .replaceAll(/([?&](?:password|sslpassword)=)[^&\s'"]*/gi, '$1…')
}
