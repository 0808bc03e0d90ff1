<?php
/**
 * The page on which an administrator asks.
 *
 * @package Interlock_Bridge
 */

defined( 'ABSPATH' ) || exit;

/**
 * Shows the page.
 */
function interlock_bridge_show_ask_page(): void {
	if ( ! current_user_can( 'manage_options' ) ) {
		return;
	}
	$result = interlock_bridge_last_result();
	echo '<div class="wrap interlock-bridge"><h1>' . esc_html__( 'Ask Interlock', 'interlock-bridge' ) . '</h1>';
	interlock_bridge_show_set_up_notice();
	interlock_bridge_show_form( null === $result || 'answered' === $result['status'] ? '' : $result['instruction'] );
	if ( null !== $result ) {
		interlock_bridge_show_result( $result );
	}
	echo '</div>';
}

/**
 * Says what is missing before anybody can ask.
 */
function interlock_bridge_show_set_up_notice(): void {
	$key = interlock_bridge_load_key();
	if ( ! interlock_bridge_missing_settings() && ! is_wp_error( $key ) ) {
		return;
	}
	echo '<div class="notice notice-warning inline"><p>' . esc_html__( 'The connection to the gateway is not set up yet.', 'interlock-bridge' ) . ' ';
	echo '<a href="' . esc_url( interlock_bridge_settings_url() ) . '">' . esc_html__( 'Open the settings', 'interlock-bridge' ) . '</a></p></div>';
}

/**
 * Shows the form.
 *
 * @param string $instruction To begin with.
 */
function interlock_bridge_show_form( string $instruction ): void {
	?>
	<form id="interlock-bridge-form" class="interlock-bridge-card" method="post" action="<?php echo esc_url( admin_url( 'admin-post.php' ) ); ?>">
		<input type="hidden" name="action" value="<?php echo esc_attr( INTERLOCK_BRIDGE_ACTION ); ?>">
		<input type="hidden" name="form" value="<?php echo esc_attr( wp_generate_uuid4() ); ?>">
		<?php wp_nonce_field( INTERLOCK_BRIDGE_ACTION ); ?>
		<label for="interlock-bridge-instruction"><?php esc_html_e( 'Instruction', 'interlock-bridge' ); ?></label>
		<textarea id="interlock-bridge-instruction" name="instruction" rows="3" required maxlength="<?php echo esc_attr( (string) INTERLOCK_BRIDGE_MAX_INSTRUCTION ); ?>" aria-describedby="interlock-bridge-hint" placeholder="<?php esc_attr_e( 'Check whether ABN 51824753556 is registered.', 'interlock-bridge' ); ?>"><?php echo esc_textarea( $instruction ); ?></textarea>
		<p id="interlock-bridge-hint" class="description"><?php esc_html_e( 'Name one Australian Business Number. Your words go to your gateway, which decides what may be called.', 'interlock-bridge' ); ?></p>
		<p class="interlock-bridge-send">
			<button type="submit" class="button button-primary"><?php esc_html_e( 'Ask', 'interlock-bridge' ); ?></button>
			<span class="spinner"></span>
			<span class="interlock-bridge-waiting" role="status" data-text="<?php esc_attr_e( 'Asking the gateway…', 'interlock-bridge' ); ?>"></span>
		</p>
	</form>
	<?php
}

/**
 * Shows a result.
 *
 * @param array $result As interlock_bridge_keep_result() kept it.
 */
function interlock_bridge_show_result( array $result ): void {
	$shows = array(
		'answered'         => 'interlock_bridge_show_answer',
		'no_matching_tool' => 'interlock_bridge_show_no_match',
		'not_permitted'    => 'interlock_bridge_show_not_permitted',
	);
	echo '<section id="interlock-bridge-result" class="interlock-bridge-card" aria-live="polite" data-status="' . esc_attr( $result['status'] ) . '">';
	call_user_func( $shows[ $result['status'] ] ?? 'interlock_bridge_show_failure', $result );
	echo '<p class="interlock-bridge-asked"><span>' . esc_html__( 'You asked:', 'interlock-bridge' ) . '</span> <q>' . esc_html( $result['instruction'] ) . '</q></p>';
	echo '</section>';
}

/**
 * Shows the head of a result: a badge and a title.
 *
 * @param string $kind  One of good, warn, bad and none.
 * @param string $badge Short word.
 * @param string $title Title.
 */
function interlock_bridge_show_head( string $kind, string $badge, string $title ): void {
	echo '<h2><span class="interlock-bridge-badge is-' . esc_attr( $kind ) . '">' . esc_html( $badge ) . '</span> ' . esc_html( $title ) . '</h2>';
}

/**
 * Shows what the register said.
 *
 * @param array $result Its answer and quota.
 */
function interlock_bridge_show_answer( array $result ): void {
	$answer = $result['answer'];
	$spaced = interlock_bridge_spaced_abn( $answer['abn'] );
	switch ( $answer['status'] ) {
		case 'found':
			interlock_bridge_show_head( 'good', __( 'Registered', 'interlock-bridge' ), $answer['entity']['name'] );
			break;
		case 'cancelled':
			interlock_bridge_show_head( 'warn', __( 'Cancelled', 'interlock-bridge' ), $answer['entity']['name'] );
			break;
		default:
			interlock_bridge_show_head( 'none', __( 'No record', 'interlock-bridge' ), $spaced );
			echo '<p>' . esc_html__( 'The number is well formed, but the register has no record of it.', 'interlock-bridge' ) . '</p>';
	}
	echo '<dl>';
	foreach ( interlock_bridge_answer_rows( $answer ) as $label => $value ) {
		if ( '' !== $value ) {
			echo '<div><dt>' . esc_html( $label ) . '</dt><dd>' . esc_html( $value ) . '</dd></div>';
		}
	}
	echo '</dl>';
	interlock_bridge_show_provenance( $answer );
	interlock_bridge_show_quota( $result['quota'] );
}

/**
 * Details of an answer, label to value; an empty value is not shown.
 *
 * @param array $answer As interlock_bridge_read_answer() returns it.
 * @return array<string, string>
 */
function interlock_bridge_answer_rows( array $answer ): array {
	$entity = $answer['entity'];
	$rows   = array( __( 'ABN', 'interlock-bridge' ) => interlock_bridge_spaced_abn( $answer['abn'] ) );
	if ( 'not_found' === $answer['status'] ) {
		return $rows;
	}
	$status = $entity['status'];
	if ( '' !== $entity['status_from'] ) {
		/* translators: 1: status such as Active, 2: date. */
		$status = sprintf( __( '%1$s since %2$s', 'interlock-bridge' ), $status, interlock_bridge_day( $entity['status_from'] ) );
	}
	$gst = '';
	if ( '' !== $entity['gst_from'] ) {
		/* translators: %s: date. */
		$gst = sprintf( __( 'Registered since %s', 'interlock-bridge' ), interlock_bridge_day( $entity['gst_from'] ) );
	} elseif ( 'sample' !== $answer['source'] ) {
		$gst = __( 'Not registered', 'interlock-bridge' );
	}
	return $rows + array(
		__( 'Status', 'interlock-bridge' )         => $status,
		__( 'Replaced by', 'interlock-bridge' )    => interlock_bridge_is_abn( $answer['newer'] ) ? interlock_bridge_spaced_abn( $answer['newer'] ) : '',
		__( 'Entity type', 'interlock-bridge' )    => $entity['type_name'],
		__( 'ACN', 'interlock-bridge' )            => $entity['acn'],
		__( 'GST', 'interlock-bridge' )            => $gst,
		__( 'Location', 'interlock-bridge' )       => trim( $entity['state'] . ' ' . $entity['postcode'] ),
		__( 'Business names', 'interlock-bridge' ) => implode( ', ', array_filter( $answer['names'] ) ),
	);
}

/**
 * A day in the site's own format, or the text itself where it is none.
 *
 * @param string $text YYYY-MM-DD, or a time that begins so.
 */
function interlock_bridge_day( string $text ): string {
	if ( ! preg_match( '/\A([0-9]{4})-([0-9]{2})-([0-9]{2})/', $text, $part ) || ! checkdate( (int) $part[2], (int) $part[3], (int) $part[1] ) ) {
		return $text;
	}
	return wp_date( get_option( 'date_format' ), gmmktime( 12, 0, 0, (int) $part[2], (int) $part[3], (int) $part[1] ), new DateTimeZone( 'UTC' ) );
}

/**
 * Says where an answer comes from.
 *
 * @param array $answer As interlock_bridge_read_answer() returns it.
 */
function interlock_bridge_show_provenance( array $answer ): void {
	$sources = array(
		'abr'    => __( 'Australian Business Register', 'interlock-bridge' ),
		'index'  => __( 'The gateway\'s own index of the public register extract', 'interlock-bridge' ),
		'sample' => __( 'Built-in sample records, for rehearsal only: not the register', 'interlock-bridge' ),
	);
	$source  = $sources[ $answer['source'] ] ?? $answer['source'];
	if ( '' !== $answer['as_of'] ) {
		/* translators: 1: where an answer comes from, 2: date. */
		$source = sprintf( __( '%1$s, as of %2$s', 'interlock-bridge' ), $source, interlock_bridge_day( $answer['as_of'] ) );
	}
	echo '<p class="interlock-bridge-fine is-' . esc_attr( 'sample' === $answer['source'] ? 'sample' : 'source' ) . '">' . esc_html__( 'Source:', 'interlock-bridge' ) . ' ' . esc_html( $source ) . '</p>';
}

/**
 * Says how many calls are left.
 *
 * @param array $quota As interlock_bridge_read_quota() returns it.
 */
function interlock_bridge_show_quota( array $quota ): void {
	if ( ! $quota ) {
		return;
	}
	/* translators: 1: calls left, 2: calls allowed, 3: day of renewal. */
	$text = __( '%1$s of %2$s calls left until %3$s', 'interlock-bridge' );
	echo '<p class="interlock-bridge-fine">' . esc_html( sprintf( $text, number_format_i18n( $quota['remaining'] ), number_format_i18n( $quota['limit'] ), interlock_bridge_day( $quota['resets_at'] ) ) ) . '</p>';
}

/**
 * Shows why nothing was proposed.
 *
 * @param array $result Its reason.
 */
function interlock_bridge_show_no_match( array $result ): void {
	interlock_bridge_show_head( 'none', __( 'No match', 'interlock-bridge' ), __( 'Nothing was called', 'interlock-bridge' ) );
	echo '<p>' . esc_html( interlock_bridge_reason_message( $result['reason'] ) ) . '</p>';
}

/**
 * Shows why a proposal was turned down.
 *
 * @param array $result Its reason.
 */
function interlock_bridge_show_not_permitted( array $result ): void {
	interlock_bridge_show_head( 'bad', __( 'Not permitted', 'interlock-bridge' ), __( 'Nothing was called', 'interlock-bridge' ) );
	echo '<p>' . esc_html( interlock_bridge_permit_message( $result['reason'] ) ) . '</p>';
}

/**
 * Shows what went wrong.
 *
 * @param array $result Its code, message, detail and request id.
 */
function interlock_bridge_show_failure( array $result ): void {
	interlock_bridge_show_head( 'bad', __( 'No answer', 'interlock-bridge' ), __( 'The call did not succeed', 'interlock-bridge' ) );
	echo '<p>' . esc_html( $result['message'] ) . '</p><dl>';
	$rows = array(
		__( 'Code', 'interlock-bridge' )    => $result['code'],
		__( 'Details', 'interlock-bridge' ) => $result['detail'],
		__( 'Request', 'interlock-bridge' ) => $result['request_id'],
	);
	foreach ( array_filter( $rows, 'strlen' ) as $label => $value ) {
		echo '<div><dt>' . esc_html( $label ) . '</dt><dd>' . esc_html( $value ) . '</dd></div>';
	}
	echo '</dl>';
}
