// Package confirm keeps, on a host, that changes are to be taken back unless somebody confirms them,
// and what has become of them.
//
// All is in one directory that only its user may change. ID is a hash of the nonce of the changes:
//
//	confirm-ID.armed       the changes of a run from one on are to be confirmed; a [State]
//	confirm-ID.confirmed   they have been, and stay
//	confirm-ID.reverting   they are being taken back
//	confirm-ID.reverted    what was taken back, until somebody has acknowledged that
//	confirm.current        the ID that was armed last
//	confirm.deadline       until when the one that is armed waits, anew each time that there is progress
//	confirm.watch          locked by the watchdog for as long as it runs
//
// The first of these becomes the second or the third by one rename, so that there is one verdict,
// whoever asks for which one at the same time. Who comes second finds no file of that name.
//
// A deadline counts the time since the host was started, also while it was suspended
// (CLOCK_BOOTTIME). That of another start of the host means nothing: such changes are taken back
// as soon as the host program is started, be it by the unit that [State].Boot asks for, or by the
// next run that wants to change something.
package confirm
