// Package confirm keeps, on a host, which changes will be reverted unless they are confirmed, and their outcome.
//
// All files are in one directory that only its user may change. ID is a hash of the nonce of the changes:
//
//	confirm-ID.armed       the changes of a run from one on must be confirmed; a [State]
//	confirm-ID.confirmed   they have been confirmed, and stay
//	confirm-ID.reverting   they are being reverted
//	confirm-ID.reverted    the reverted changes, until a controller has acknowledged them
//	confirm.current        the ID that was armed last
//	confirm.deadline       the deadline of the armed one, moved with each progress
//	confirm.watch          locked by the watchdog while it runs
//
// The first file becomes the second or the third by one rename, so that there is one verdict, even if both are
// requested at the same time. The later rename finds no file of that name.
//
// A deadline counts the time since the host was started, including suspension (CLOCK_BOOTTIME). The deadline of another
// start of the host has no meaning: such changes are reverted as soon as the host program is started, by the unit that
// [State].Boot requests, or by the next run that wants to change something.
package confirm
