package scope

// For the tests outside.
var (
	PlainPath  = plainPath
	FromResult = fromResult
)
