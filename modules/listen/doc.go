// Package listen hears on a host that something may have changed: it turns what resource types
// name ([modules.Sources]) into [Hint]s. A hint is no statement about the host; whoever gets one
// checks the resource. What matters is that none is lost: between two hints for a source, what it
// names is as it was.
//
//	l, err := listen.New(log.Print)
//	polled, err := l.Listen(ctx, sources) // and again whenever the sources are others
//	for hint := range l.Hints() {
//		// check the resources at hint.Sources, or all of them if hint.All is not ""
//	}
//
// On Linux it listens to inotify, /proc/self/mountinfo and systemd; elsewhere all sources are
// polled. It is linked into the full host program only.
//
// # Paths
//
// Only directories are watched, never the file: a file that is replaced is another inode. A path
// is walked from the root. Each directory on the way is watched for the name of the next one, and
// only then looked at, so that what happens in between is an event; the walk ends at the path or
// at what is missing. Symbolic links are followed, each one being a name in a watched directory
// itself. An event for a name on the way, a mount, or a directory that is another one than before
// has the walk done anew, and the hint is given behind it: what is changed after the check that
// it leads to is an event again.
//
// A directory is watched once, however many paths lead through it, and no longer than one does.
//
// # Who wrote
//
// Where fanotify names processes (root of the initial user namespace, since Linux 5.9), a hint says
// which one wrote. That may come in a hint of its own, behind the one for the write.
package listen
