/** How far LSNs jump after a fail-over: above everything that a lost moment can have given out. */
export const EPOCH_JUMP: number = 2 ** 20
