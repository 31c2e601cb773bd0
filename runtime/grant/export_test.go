package grant

// MaxParameters is the number of parameters of a permission.
const MaxParameters = maxParameters
