// Package listen detects possible changes on a host: it turns the sources that resource types name ([modules.Sources])
// into [Hint]s. A hint does not describe the host; its receiver checks the resource. The guarantee is that no hint is
// lost: between two hints for a source, its objects are unchanged.
//
//	l, err := listen.New(log.Print)
//	polled, err := l.Listen(ctx, sources) // and again whenever the sources are others
//	for hint := range l.Hints() {
//	// check the resources at hint.Sources, or all of them if hint.All is not ""
//	}
//
// On Linux it listens to inotify, /proc/self/mountinfo and systemd; elsewhere all sources are polled. It is linked into
// the full host program only.
//
// # Paths
//
// Only directories are watched, never the file: a file that is replaced is another inode. A path is walked from the
// root. Each directory on the way is watched for the name of the next one before that name is read, so that a change in
// between is an event; the walk ends at the path or at a missing name. Symbolic links are followed, each one being a
// name in a watched directory itself. An event for a name on the way, a mount, or a directory that is not the same as
// before repeats the walk. The hint is sent after the walk, so that a change after the resulting check is an event
// again.
//
// A directory is watched once, however many paths lead through it, and only as long as one does.
//
// # Who wrote
//
// Where fanotify names processes (root of the initial user namespace, since Linux 5.9), a hint names the process that
// wrote. That may come in a hint of its own, after the one for the write.
package listen
