// Package watch keeps catalogs that were checked under watch, on a host: it says what becomes of
// their entries. It is linked by the full host program only.
//
//	loop.go      [Loop]: who is checked when; the lock of the host; quiet times
//	play.go      one catalog: what is checked of it, and what of that is news
//	settle.go    how long what was hinted at is left alone; what is checked although nothing was heard
//	told.go      verdicts that are compared, and what is sent of them
//
// A hint says where something may have changed. Its entry is checked once nothing more is heard of
// it, and with it what is not as it should be, and all that depends on either; the others are
// taken for what they were ([engine.Standing]). If that gives nothing new, the whole catalog would
// have given nothing new. Else all of it is checked at once, since what is planned for one entry
// may be seen by any other: what was told is then what a fresh check would tell.
//
// Whatever is checked is listened to first, so that a change during the check is a hint again.
package watch
