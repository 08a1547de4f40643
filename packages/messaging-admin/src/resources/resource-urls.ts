/** Where a client reached the namespace, for the URLs in answers. */
export interface ReachedAt {
  /** `https://localhost:5300` */
  readonly origin: string
  readonly apiVersion: string
}

export function resourceUrl({ origin, apiVersion }: ReachedAt, path: string): string {
  return `${origin}/${encodeURI(path)}?api-version=${encodeURIComponent(apiVersion)}`
}
