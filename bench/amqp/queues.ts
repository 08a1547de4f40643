/** Queues that every server of a scenario has. */
export const WORK = 'work'
export const TIMED = 'timed'
export const IDLE = 'idle'

/** How clients log in. */
export const USER = 'bench'
