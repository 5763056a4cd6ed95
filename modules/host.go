package modules

import (
	"context"
	"encoding/json"
	"errors"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"time"
)

// Host is the only way for a resource to read or change its system. The engine gives Check a Host whose changing calls
// fail with [ErrReadOnly]. In a check run, its reading calls answer as if earlier plans had been applied.
type Host struct {
	Files    Files
	Accounts Accounts
	Commands Commands
	Mounts   Mounts // nil on systems without them, and in Check
	Contents Contents
	Report   Reporter
	Forecast Forecast
	// Private is a directory for data of a type between runs, such as the result of a command for a file. The type that
	// uses it creates it, for its own user alone, and checks that; "" means that there is none.
	Private string
	// Stage calls use with the path of a temporary file, which it then removes: for a program that examines a content in a
	// check run. The file has the content, the attributes, and a name like the temporary files of [FileWriter] for name. It is
	// in the directory of the program, which no other user may enter. Stage returns the error of use, or that use has changed
	// the file. Stage is nil if no such directory exists.
	Stage func(ctx context.Context, name string, r io.Reader, a Attributes, use func(temp string) error) error
	// CheckRun is set in a run that only predicts. Programs that write logs and caches when they are
	// queried then get other places for them, such as below Private.
	CheckRun bool
	// Aside returns the same host of a check run for reads that concern only warnings, or details of effects. Doubts about
	// them do not count for the result of the resource; grade returns how sure they are so far. It may be nil.
	Aside func() (h Host, grade func() Grade)
	// Resources returns the host's copy of the play's folder resources/, readable for this user alone; "" if the play
	// has none. nil means that there can be none.
	Resources func(ctx context.Context) (dir string, err error)
	// YAML converts a YAML document of at most [MaxParse] bytes to JSON. The controller does it; nil if there is none.
	YAML func(ctx context.Context, text string) (json.RawMessage, error)
	// Keep keeps the states of paths before an Apply changes them in another way than by a [FileWriter]; nil if nothing
	// is kept.
	Keep func(ctx context.Context, paths ...string)
	// KeepAttributes is Keep for paths of which an Apply changes no more than owner, group and
	// mode: what files hold is not kept.
	KeepAttributes func(ctx context.Context, paths ...string)
	// State returns what an earlier resource of the session, by Entry.Ref of package wire, has last
	// reported as its state.
	State func(ref string) (State, bool)
	// Preload implements [Host.Preloaded]; nil means that nothing is preloaded.
	Preload func(reads EffectKind) any
}

// MaxParse bounds a YAML document of a host, in bytes: 256 KiB.
const MaxParse = 256 << 10

// Preloaded returns what Preload of the type has returned (see [Preloader]), or nil.
// reads is the kind of things that the answer is used for, with the meaning of
// [Command].Reads: in a check run it is in doubt whenever a probe would be.
func (h Host) Preloaded(reads EffectKind) any {
	if h.Preload == nil {
		return nil
	}
	return h.Preload(reads)
}

// Forecast has, in a check run, the effects of earlier plans. Files, accounts and commands use it by themselves; a type
// uses it for effects of its own kinds.
type Forecast interface {
	// Lookup returns the state of the latest effect of that kind and key. Outside check runs it finds nothing. It never
	// finds an [AnyEffect]: a type looks for one if a thing is missing that others may create without declaring it,
	// such as a unit of a package. If such an effect is pending, the prediction becomes uncertain.
	Lookup(kind EffectKind, key string) (state any, ok bool)
}

// ErrReadOnly is the error of every changing call of a Host during Check.
var ErrReadOnly = errors.New("a check changes nothing")

// Files are the paths of the host. Every path is absolute and clean.
type Files struct {
	FileReader
	FileRights
	FileWriter
	DirectoryOpener
	// Xattrs returns the extended attributes of a regular file or a directory that Stat has described, in the form of
	// package rooted; nil means that they are unknown, or that there can be none. The function is nil where none can be
	// read.
	Xattrs func(path string, is FileInfo) ([]string, error)
	// Room returns how many bytes can be written at path, in the file system with the number in. A file system without free
	// inodes has none. ok is false where that is not known; Room itself is nil where it is never known.
	Room func(path string) (in uint64, free int64, ok bool)
}

// Knowing returns files for a reader that applies effects of a kind itself, for example predicted users to the list of
// users in passwd(5). A [DiffersEffect] of this kind does not make the answers uncertain.
func (f Files) Knowing(kind EffectKind) FileReader {
	if k, ok := f.FileReader.(interface{ Knowing(EffectKind) FileReader }); ok {
		return k.Knowing(kind)
	}
	return f.FileReader
}

// FileRights reports beforehand what the process may do, so that a check run predicts refusals, too. Each error names
// the missing permission, and wraps fs.ErrPermission. nil is a promise as far as the operating system can make it.
type FileRights interface {
	// MayReplace checks whether names can be added to the directory of path, and whether the object at path can be
	// replaced or removed.
	MayReplace(path string) error
	// MaySetAttributes checks whether the object at path can be given a.
	MaySetAttributes(path string, a Attributes) error
	// MayCreate checks whether a new file or directory can be given a.
	MayCreate(a Attributes) error
	// MountPoints returns the mount points at path and below it: the kernel neither replaces nor removes them. It is
	// empty on systems that do not report them.
	MountPoints(path string) []MountPoint
	// Binds maps the mount points of bind mounts to the other path of the same directory or file; see package mountinfo.
	// It is empty without bind mounts.
	Binds() map[string]string
}

// FileReader looks at files. Errors wrap fs.ErrNotExist, fs.ErrPermission and
// syscall.ENOTDIR as the os package has them.
type FileReader interface {
	// Stat describes path itself: a symbolic link is not followed.
	Stat(path string) (FileInfo, error)
	// Digest is the SHA-256 of a regular file, in lower-case hex, links followed.
	Digest(path string) (string, error)
	// Open reads a regular file, links followed.
	Open(path string) (io.ReadCloser, error)
	// List returns the names in a directory, sorted.
	List(path string) ([]string, error)
	// ModTime returns the modification time of path; it follows links. Times are not predicted.
	ModTime(path string) (time.Time, error)
}

// FileWriter changes files. Every call leaves the old state or the new one.
type FileWriter interface {
	// Write replaces path by a regular file with these bytes and attributes. It creates a temporary file in the same
	// directory with mode 0600, fills it, sets owner and mode, syncs it, renames it over path, and syncs the directory.
	// It replaces a symbolic link at path, and does not follow it. Extended attributes of a former regular file are
	// kept, except capabilities, unless the file belonged to another user.
	Write(ctx context.Context, path string, r io.Reader, a Attributes) error
	// WriteIf is Write, but before the rename it calls approve with the path of the complete temporary file. approve
	// must not change the file. If approve returns an error, WriteIf returns it, and path is unchanged.
	WriteIf(ctx context.Context, path string, r io.Reader, a Attributes, approve func(temp string) error) error
	// Copy writes a regular file again, as to, with its owner, group and permission bits.
	// It is for people: what takes a run back leaves it.
	Copy(ctx context.Context, path, to string) error
	// MakeDir creates a directory and its missing parents, all with these
	// attributes. An existing directory is an error.
	MakeDir(ctx context.Context, path string, a Attributes) error
	// Symlink replaces path by a symbolic link to target, which is stored as it is
	// and need not exist. A directory at path is an error.
	Symlink(ctx context.Context, path, target string) error
	// SetAttributes changes owner and mode of the object at path, which must not be a symbolic link.
	SetAttributes(ctx context.Context, path string, a Attributes) error
	// Remove removes a file, a symbolic link or an empty directory; with tree
	// also a directory with everything below it, without following links.
	Remove(ctx context.Context, path string, tree bool) error
}

// DirectoryOpener is for tasks that [FileWriter] is too small for: to unpack thousands of files, or to write a file
// piece by piece.
type DirectoryOpener interface {
	// OpenDirectory opens a directory; it follows links. Operations through it stay within it, whatever links are or
	// appear there. It is allowed in Apply only. The caller closes it, and leaves no incomplete files in it.
	OpenDirectory(path string) (*os.Root, error)
	// Within returns a writer whose changes all happen below dir, even if symbolic links lead out of it or appear
	// during its work. A path that is not below dir is an error. dir itself may be reached through links.
	Within(dir string) FileWriter
	// Sync makes all data written to the file system of a directory survive a power failure.
	Sync(dir *os.Root) error
}

// FileKind is the kind of the object at a path.
type FileKind string

// The kinds of file. Absent is only used in forecasts: a missing file is
// fs.ErrNotExist.
const (
	Regular   FileKind = "file"
	Directory FileKind = "directory"
	Symlink   FileKind = "symlink"
	Special   FileKind = "special" // device, socket, pipe
	Absent    FileKind = "absent"
)

// FileInfo describes one path.
type FileInfo struct {
	Kind   FileKind
	Size   int64       // bytes, of regular files
	Mode   fs.FileMode // permission bits, setuid, setgid and sticky
	UID    int
	GID    int
	Target string // target of a symbolic link, as stored
	Links  int    // names of a regular file: a change through one of several shows under all
}

// Attributes are the attributes to set on a file or directory. Negative ids keep the ids of the file (new files get the
// ids of the process).
type Attributes struct {
	Mode fs.FileMode // permission bits, setuid, setgid and sticky
	UID  int
	GID  int
	// Exact makes Mode remove setuid, setgid and sticky if it has none of them. Without it, a directory keeps these
	// bits, and a new directory gets the bits of its parent.
	Exact bool
	// Of is the required kind of the object at the path, for [FileWriter.SetAttributes]; "" means anything but a
	// symbolic link. Another user may have just replaced the object.
	Of FileKind
	// KeepMode leaves the mode alone (new files get 0600, directories 0755).
	KeepMode bool
	// Xattrs are the extended attributes to set, in the form of [Files].Xattrs; nil keeps them.
	Xattrs []string
}

// Accounts are the users and groups of the host. Names and decimal ids are accepted; an id needs no entry. The error
// for a missing name wraps [ErrNoAccount].
type Accounts interface {
	UserID(ctx context.Context, nameOrID string) (int, error)
	GroupID(ctx context.Context, nameOrID string) (int, error)
	// UserName and GroupName give the name for an id, or the id in decimal.
	UserName(ctx context.Context, uid int) string
	GroupName(ctx context.Context, gid int) string
}

// ByName returns the accounts for a reader that compares and shows accounts by name, never by id, such as the owner of a
// file. In a check run, its predictions do not depend on the id that the host will choose for a new account.
func ByName(a Accounts) Accounts {
	if n, ok := a.(interface{ ByName() Accounts }); ok {
		return n.ByName()
	}
	return a
}

// PlaceholderID returns the id in predictions of an account for which the host will choose one: an id that is rarely used
// (https://systemd.io/UIDS-GIDS), and that accounts of other names do not share.
func PlaceholderID(name string) int {
	hash := fnv.New32a()
	hash.Write([]byte(name))
	return 0x7fff_0000 + int(hash.Sum32()&0xffff)
}

// ErrNoAccount reports that a user or group does not exist on the host.
var ErrNoAccount = errors.New("no such account")

// Commands starts programs. Both calls run them in a process group of their own, which is killed when ctx or the
// timeout ends; the returned error then wraps [ErrTimeout] or the context's error. A program that was started returns
// an Exit and no error, whatever its exit code.
type Commands interface {
	// Probe runs a program that only looks: guards and queries. Allowed in Check.
	Probe(ctx context.Context, c Command) (Exit, error)
	// Run runs a program that may change the host. Allowed in Apply only.
	Run(ctx context.Context, c Command) (Exit, error)
}

// ErrTimeout reports that a command was killed after its timeout.
var ErrTimeout = errors.New("timed out")

// A Command is a program to start. There is no shell unless Argv names one.
type Command struct {
	Argv []string // Argv[0] without a slash is looked up in Path
	Dir  string   // working directory; "" is /
	Env  []string // K=V, added to PATH, LANG=C and LC_ALL=C, and in Run to what its host marks it with
	Path string   // colon list of absolute directories; "" is the default path
	User string   // run as this user (name or id) with its groups; "" is the own user
	// Home sets HOME, USER, LOGNAME and SHELL of the user that the program runs as. They are always
	// set if User is.
	Home    bool
	Timeout time.Duration // 0 means none
	Stdin   string        // standard input; the place for secrets, since other users could see Argv and Env
	// Reads, if set, declares that a probe depends only on things of this kind, such as the installed packages. In a
	// check run its answer is then certain in spite of pending changes to other things.
	Reads EffectKind
	// Paths, if set, declares that a probe reads only these absolute paths, and everything below them.
	Paths []string
	// OnLine, if set, gets every line of standard output as it is written.
	OnLine func(line string)
	// OnErrorLine is the same of standard error.
	OnErrorLine func(line string)
	// Follow allows an operator to see the output as it comes: it shows no more than the result of the resource.
	Follow bool
	// MaxOutput bounds the kept bytes of each output stream; 0 means [MaxOutput].
	MaxOutput int
}

// DefaultPath is the search path for programs (CCM's own list).
const DefaultPath = "/usr/bin:/bin:/usr/sbin:/sbin:/usr/local/bin:/usr/local/sbin"

// An Exit is the outcome of a command. Of each stream the first and the last bytes are kept, together MaxOutput or as
// many as the command requests, and the others are counted.
type Exit struct {
	Code    int           `json:"code"` // 128+n when signal n ended it
	Stdout  Output        `json:"stdout,omitzero"`
	Stderr  Output        `json:"stderr,omitzero"`
	Elapsed time.Duration `json:"ns"`
}

// MaxOutput is the usual limit for the kept bytes of each output stream: 64 KiB.
const MaxOutput = 64 << 10

// Output is the output of a command on one stream.
type Output struct {
	Text    string `json:"text,omitempty"`    // if bytes were dropped an excerpt, with a mark where they were: see package excerpt
	Dropped int64  `json:"dropped,omitempty"` // bytes that are missing in Text
}

// Contents opens the bytes of a [Content]: inline ones at once, otherwise bytes that the controller has sent or sends
// now.
type Contents interface {
	Open(ctx context.Context, c Content) (io.ReadCloser, error)
}

// Reporter takes reports of a resource in addition to its plan.
type Reporter interface {
	// Message adds a line for people at a level such as [LevelInfo].
	Message(level, text string)
	// Output records the exit of the command that is the resource.
	Output(e Exit)
	// State records the state of the resource. A nil part keeps the recorded one.
	State(s State)
}

// Levels of messages. The last three are for debugging.
const (
	LevelError   = "error"
	LevelWarning = "warning"
	LevelInfo    = "info"
	LevelVerbose = "verbose"
	LevelDebug   = "debug"
	LevelTrace   = "trace"
)

// A Note is a line that a resource had to say.
type Note struct {
	Level string `json:"level"` // such as [LevelInfo]
	Text  string `json:"text"`
}

// Uncounted returns the host for reads that do not count for the result of the resource (see Aside).
func (h Host) Uncounted() Host {
	if h.Aside != nil {
		h, _ = h.Aside()
	}
	return h
}

// Warn reports the warning that look returns; empty means none. A check run reports no warning that rests on something
// unknown, and what look reads does not count for the result of the resource.
func (h Host) Warn(look func(h Host) string) {
	report, grade := h.Report, func() Grade { return Certain }
	if h.Aside != nil {
		h, grade = h.Aside()
	}
	if warning := look(h); warning != "" && grade() != Unknown {
		report.Message(LevelWarning, warning)
	}
}
