/**
 * The version of a collection after a change: higher than before, and a number that no other history of the server has.
 * A fail-over may undo a change. If versions were counted, the next change would get the number of the lost one, and
 * processes that have the lost one cached would take it for the present one.
 */
export const NEXT_VERSION = 'greatest(version + 1, :server_now * 1000)'
