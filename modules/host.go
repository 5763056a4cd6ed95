package modules

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"time"
)

// Host is the only way a resource reads or changes the system it runs on. The
// engine gives Check a Host whose changing calls fail with [ErrReadOnly] and,
// in a check run, one whose reading calls answer as if earlier plans had been
// carried out.
type Host struct {
	Files    Files
	Accounts Accounts
	Commands Commands
	Mounts   Mounts // nil on systems without them, and in Check
	Contents Contents
	Report   Reporter
	Forecast Forecast
	// Private is a directory for what a type keeps between runs, such as what a command
	// has made of a file. The type that uses it makes it, for the own user alone, and checks
	// that it is; "" means that there is none.
	Private string
	// CheckRun is set in a run that only predicts. Programs that write logs and caches when they are
	// queried then get other places for them, such as below Private.
	CheckRun bool
	// Resources gives the directory that the folder resources/ of the play has been
	// put into, for this user alone; "" if the play has none, and nil where none can be.
	Resources func(ctx context.Context) (dir string, err error)
	// YAML gives a YAML document, of at most [MaxParse] bytes, as JSON. The controller
	// reads it; nil where there is none.
	YAML func(ctx context.Context, text string) (json.RawMessage, error)
	// Keep has what is at paths kept before an Apply changes them in another way than by a
	// [FileWriter]; nil where nothing is kept.
	Keep func(ctx context.Context, paths ...string)
	// KeepAttributes is Keep for paths of which an Apply changes no more than owner, group and
	// mode: what files hold is not kept.
	KeepAttributes func(ctx context.Context, paths ...string)
	// State returns what an earlier resource of the session, by Entry.Ref of package wire, has last
	// reported as its state.
	State func(ref string) (State, bool)
	// Preload is what [Host.Preloaded] asks; nil knows nothing.
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

// Forecast answers, in a check run, with what earlier plans would have made
// true. Files, accounts and commands consult it by themselves; a type asks it
// for effects of a kind of its own.
type Forecast interface {
	// Lookup gives the state of the latest effect of that kind and key. It finds
	// nothing outside check runs. Of [AnyEffect] it never finds any: a type asks for it
	// that has not found a thing which others bring along without saying so, such as a
	// unit that comes with a package, so that its answer is in doubt if one is pending.
	Lookup(kind EffectKind, key string) (state any, ok bool)
}

// ErrReadOnly is what every changing call of a Host returns during Check.
var ErrReadOnly = errors.New("a check changes nothing")

// Files are the paths of the host. Every path is absolute and clean.
type Files struct {
	FileReader
	FileRights
	FileWriter
	DirectoryOpener
	// Xattrs gives the extended attributes of a regular file or a directory that is as Stat has
	// described it, as package rooted has them; nil means that they are not known, or that there
	// can be none. It is nil itself where it is not known of any.
	Xattrs func(path string, is FileInfo) ([]string, error)
	// Room returns how many bytes can be written at path, in the file system with the number in. A file system without free
	// inodes has none. ok is false where that is not known; Room itself is nil where it is never known.
	Room func(path string) (in uint64, free int64, ok bool)
}

// Knowing returns files for a reader that applies effects of a kind itself, such as those that
// predict users to a list of users that it reads from passwd(5). A [DiffersEffect] that names this
// kind does not make the answers uncertain.
func (f Files) Knowing(kind EffectKind) FileReader {
	if k, ok := f.FileReader.(interface{ Knowing(EffectKind) FileReader }); ok {
		return k.Knowing(kind)
	}
	return f.FileReader
}

// FileRights tells beforehand what the process may do, so that a check run
// predicts the refusals too. Each error says what is missing, and wraps
// fs.ErrPermission; nil is a promise as far as the operating system can make it.
type FileRights interface {
	// MayReplace asks whether names can be added to the directory of path, and
	// whether what is at path can be replaced or removed.
	MayReplace(path string) error
	// MaySetAttributes asks whether what is at path can be given a.
	MaySetAttributes(path string, a Attributes) error
	// MayCreate asks whether a new file or directory can be given a.
	MayCreate(a Attributes) error
	// MountPoints returns where something is mounted at path or below it: the kernel neither replaces nor
	// removes that. It is empty on systems that do not tell.
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
	// List gives the names in a directory, sorted.
	List(path string) ([]string, error)
	// ModTime is when something was last written to path, links followed. Nothing is
	// predicted of times.
	ModTime(path string) (time.Time, error)
}

// FileWriter changes files. Every call leaves the old state or the new one.
type FileWriter interface {
	// Write replaces path by a regular file with these bytes and attributes: a
	// temporary file in the same directory, created 0600, is filled, given its
	// owner and mode, synced and renamed over path, and the directory is synced.
	// A symbolic link at path is replaced, not followed. A regular file hands on its
	// extended attributes, but for capabilities, unless it was somebody else's.
	Write(ctx context.Context, path string, r io.Reader, a Attributes) error
	// WriteIf is Write, but before the file is renamed, approve is told its temporary
	// path, at which it is as it will be. It changes nothing of it; its error is returned,
	// and leaves path as it was.
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
	// SetAttributes changes owner and mode of what is at path, which must not be
	// a symbolic link.
	SetAttributes(ctx context.Context, path string, a Attributes) error
	// Remove removes a file, a symbolic link or an empty directory; with tree
	// also a directory with everything below it, without following links.
	Remove(ctx context.Context, path string, tree bool) error
}

// DirectoryOpener is for what the calls of [FileWriter] are too small for: to
// unpack thousands of files, or to write one piece by piece.
type DirectoryOpener interface {
	// OpenDirectory opens a directory, links followed. What is done through it stays
	// in it, whatever links are or come to be there. Allowed in Apply only; the
	// caller closes it, and leaves no half-done thing behind in it.
	OpenDirectory(path string) (*os.Root, error)
	// Within gives a writer whose changes all happen below dir, whatever symbolic
	// links lead out of it, also ones that are put there while it works. A path
	// that is not below dir is an error. dir itself may be reached through links.
	Within(dir string) FileWriter
	// Sync has all that was written to the file system of a directory kept in spite
	// of a power failure.
	Sync(dir *os.Root) error
}

// FileKind is what sort of thing is at a path.
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
	Target string // of symbolic links, as stored
	Links  int    // names of a regular file: a change through one of several shows under all
}

// Attributes are what a file or directory is given. Negative ids keep what the
// file has (new files get those of the process).
type Attributes struct {
	Mode fs.FileMode // permission bits, setuid, setgid and sticky
	UID  int
	GID  int
	// Exact says that Mode is also about setuid, setgid and sticky if it has none of them. Without
	// it, a directory keeps those that it has, and a new one those that its parent hands on.
	Exact bool
	// Of is what has to be at the path, for [FileWriter.SetAttributes]; "" is anything but a
	// symbolic link. Somebody else may have just put another thing there.
	Of FileKind
	// KeepMode leaves the mode alone (new files get 0600, directories 0755).
	KeepMode bool
	// Xattrs are the extended attributes that it has from then on, as [Files].Xattrs gives them;
	// nil leaves them alone.
	Xattrs []string
}

// Accounts are the users and groups of the host. Names and decimal ids are
// accepted; an id needs no entry. A name that does not exist gives an error
// that wraps [ErrNoAccount].
type Accounts interface {
	UserID(ctx context.Context, nameOrID string) (int, error)
	GroupID(ctx context.Context, nameOrID string) (int, error)
	// UserName and GroupName give the name for an id, or the id in decimal.
	UserName(ctx context.Context, uid int) string
	GroupName(ctx context.Context, gid int) string
}

// ErrNoAccount says that a user or group does not exist on the host.
var ErrNoAccount = errors.New("no such account")

// Commands starts programs. Both calls run them in a process group of their
// own, which is killed when ctx or the timeout ends; the returned error then
// wraps [ErrTimeout] or the context's error. A program that could be started
// gives an Exit and no error, whatever its exit code.
type Commands interface {
	// Probe runs a program that only looks: guards and queries. Allowed in Check.
	Probe(ctx context.Context, c Command) (Exit, error)
	// Run runs a program that may change the host. Allowed in Apply only.
	Run(ctx context.Context, c Command) (Exit, error)
}

// ErrTimeout says that a command was killed because its time was up.
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
	Stdin   string        // what the program reads; the place for secrets, which others could see in Argv and Env
	// Reads, if set, says that a probe looks at things of this kind alone, such as
	// the packages that are installed. In a check run its answer is then certain in
	// spite of pending changes to other things.
	Reads EffectKind
	// OnLine, if set, gets every line of standard output as it is written.
	OnLine func(line string)
	// OnErrorLine is the same of standard error.
	OnErrorLine func(line string)
	// Follow says that an operator may see the output as it comes: it shows no more than the
	// result of the resource does.
	Follow bool
	// MaxOutput is how many bytes of each output stream are kept; 0 is [MaxOutput].
	MaxOutput int
}

// DefaultPath is where programs are looked for (CCM's own list).
const DefaultPath = "/usr/bin:/bin:/usr/sbin:/sbin:/usr/local/bin:/usr/local/sbin"

// An Exit is how a command ended. Of each stream the beginning and the end are kept,
// together MaxOutput bytes or as many as the command says, and the rest is counted.
type Exit struct {
	Code    int           `json:"code"` // 128+n when signal n ended it
	Stdout  Output        `json:"stdout,omitzero"`
	Stderr  Output        `json:"stderr,omitzero"`
	Elapsed time.Duration `json:"ns"`
}

// MaxOutput is how many bytes of each output stream are usually kept: 64 KiB.
const MaxOutput = 64 << 10

// Output is what a command wrote to one stream.
type Output struct {
	Text    string `json:"text,omitempty"`    // if bytes were dropped an excerpt, with a mark where they were: see package excerpt
	Dropped int64  `json:"dropped,omitempty"` // bytes that are missing in Text
}

// Contents gives the bytes of a [Content]: at once when they are inline,
// otherwise from what the controller has sent or sends now.
type Contents interface {
	Open(ctx context.Context, c Content) (io.ReadCloser, error)
}

// Reporter takes what a resource has to say besides its plan.
type Reporter interface {
	// Message adds a line for people at a level such as [LevelInfo].
	Message(level, text string)
	// Output records the exit of the command that is the resource.
	Output(e Exit)
	// State records how the resource is. Parts that are nil leave what was recorded.
	State(s State)
}

// The levels of what a resource says. The last three are for those who look for a fault.
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
