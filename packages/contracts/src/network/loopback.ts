const ADDRESS = /^(?:localhost|127(?:\.\d{1,3}){3}|::1)$/i
/** Of a Host header: with an IPv6 address in brackets, and perhaps a port. */
const HOST = /^(?:localhost|(?:[\w-]+\.)+localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i
const ORIGIN = /^https?:\/\//i

/** Whether a front that listens there can be reached from this machine only. */
export function isLoopbackAddress(host: string): boolean {
  return ADDRESS.test(host)
}

/** Whether a Host header names this machine by a name that no foreign DNS server can give an address. */
export function isLoopbackHost(host: string): boolean {
  return HOST.test(host)
}

/** Whether an Origin header is that of a page which this machine serves itself. */
export function isLoopbackOrigin(origin: string): boolean {
  return ORIGIN.test(origin) && HOST.test(origin.replace(ORIGIN, ''))
}
