package operators

import "github.com/danielgtaylor/huma/v2/validation"

// What breaks the schema is told in the words of every other refusal. They
// follow the place of the mistake: "body.priority must be at most 9".
func init() {
	validation.MsgUnexpectedProperty = "is not known here"
	validation.MsgExpectedRequiredProperty = "needs %s"
	validation.MsgExpectedRFC3339DateTime = "must be a time such as 2026-12-24T18:00:00Z"
	validation.MsgExpectedRFC3339Date = "must be a day such as 2026-12-24"
	validation.MsgExpectedOneOf = "must be one of: %s"
	validation.MsgExpectedBoolean = "must be true or false"
	validation.MsgExpectedNumber = "must be a number"
	validation.MsgExpectedInteger = "must be a whole number"
	validation.MsgExpectedString = "must be a string"
	validation.MsgExpectedArray = "must be an array"
	validation.MsgExpectedObject = "must be an object"
	validation.MsgExpectedMinimumNumber = "must be at least %v"
	validation.MsgExpectedMaximumNumber = "must be at most %v"
	validation.MsgExpectedMinLength = "must have a length of at least %d"
	validation.MsgExpectedMaxLength = "must have a length of at most %d"
	validation.MsgExpectedMinItems = "must have at least %d items"
	validation.MsgExpectedMaxItems = "must have at most %d items"
}
