/**
 * What the version of a collection becomes with each change: higher than before, and a number that no other history of
 * the server has. A fail-over may take a change back; were versions counted, the next change would get the lost one's
 * number, and processes that know the lost one would take it for the present one.
 */
export const NEXT_VERSION = 'greatest(version + 1, :server_now * 1000)'
