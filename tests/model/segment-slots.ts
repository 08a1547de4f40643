/** Few slots, so that ranges go on in new segments while a program runs. */
export const SEGMENT_SLOTS = 12
