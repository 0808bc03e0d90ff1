<?php
/**
 * What a real web server in front of WordPress is told to refuse: files whose
 * name begins with a dot, and the database.
 */

$interlock_path = rawurldecode( (string) parse_url( $_SERVER['REQUEST_URI'], PHP_URL_PATH ) );
if ( preg_match( '#/\.|^/wp-content/database(/|$)|^/debug\.log#', $interlock_path ) ) {
	http_response_code( 403 );
	return true;
}
return false;
